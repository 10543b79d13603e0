// The console's own script: ages, keys, picked rows, copying, dialogs, and the mark of a stale page.
// Every action also works without it. It writes no markup, so it needs no Trusted Types policy.
(() => {
  'use strict';
  const root = document.documentElement;
  root.classList.add('js');
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const korean = root.lang === 'ko';

  // The server writes instants in the zone of the browser. The first page of a browser is loaded again with it.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && /^[\w+/-]{1,64}$/.test(zone)) {
    const hasZone = () => document.cookie.includes('reelyard_zone=');
    const hadZone = hasZone();
    document.cookie = 'reelyard_zone=' + zone + '; path=/console; max-age=31536000; samesite=lax';
    if (!hadZone && hasZone()) location.reload();
  }

  // Ages go on by themselves: once a second up to a minute, otherwise once a minute.
  const started = performance.now();
  const rendered = Number(root.dataset.now);
  const now = () => rendered + (performance.now() - started);
  const units = korean ? ['초', '분', '시간', '일'] : [' s', ' min', ' h', ' d'];
  function age(seconds) {
    if (seconds < 60) return seconds + units[0];
    if (seconds < 3600) return Math.floor(seconds / 60) + units[1];
    if (seconds < 86400) return Math.floor(seconds / 3600) + units[2];
    const days = Math.floor(seconds / 86400) + units[3];
    const hours = Math.floor(seconds % 86400 / 3600);
    return seconds >= 604800 || hours === 0 ? days : days + ' ' + hours + units[2];
  }
  function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }
  function countAges() {
    if (document.hidden) return;
    const at = now();
    for (const element of all('time[data-age]')) {
      setText(element, age(Math.max(0, Math.floor((at - element.dataset.age) / 1000))));
    }
    for (const element of all('time[data-until]')) {
      setText(element, age(Math.max(0, Math.floor((element.dataset.until - at) / 1000))));
    }
    noticeSilence(at);
    markStale(at);
    showHeld(at);
  }

  // A page whose stream is cut says so, with the age of what it shows.
  let cut = null;
  // A node that is paused, or a network that drops packets, ends no connection. The node says something every 5 seconds.
  const longestSilence = 12000;
  let heard = now();
  let connection = null;
  function noticeSilence(at) {
    if (!connection || cut !== null || at - heard < longestSilence) return;
    cut = heard;
    connection.reader?.cancel();
  }
  function markStale(at) {
    const live = one('#live');
    const bar = one('#stale-bar');
    const seconds = cut === null ? 0 : Math.floor((at - cut) / 1000);
    const stale = seconds >= 5;
    root.classList.toggle('is-stale', stale);
    // A session that has ended is the only thing to say then.
    const silent = stale && all('#session-over, #session-ended').every((notice) => notice.hidden);
    if (bar) {
      bar.hidden = !silent;
      if (silent) fillStaleBar(bar, seconds, at);
    }
    if (live && one('#stream')) {
      live.classList.toggle('stale', stale);
      const words = one('[data-live-words]', live);
      if (words) {
        setText(words, stale ? live.dataset.stale.replace('{age}', age(seconds)) : live.dataset.live);
        words.title = words.textContent;
      }
    }
    if (stale && at - asked >= 5000) sayIfSignedOut(at);
  }
  function fillStaleBar(bar, seconds, at) {
    const words = one('[data-words]', bar);
    const seen = new Date(cut).toTimeString().slice(0, 8);
    setText(words, words.dataset.words.replace('{age}', age(seconds)).replace('{at}', seen));
    const next = one('[data-next]', bar);
    const left = Math.ceil((nextTry - at) / 1000);
    setText(next, left > 0 ? next.dataset.next.replace('{left}', age(left)) : next.dataset.now);
  }
  // The script chooses the times between attempts, so that the page can say when the next one is. Each is a bit
  // different: the pages of all viewers do not come back at the same moment.
  let nextTry = 0;
  function chooseDelay(connection) {
    const delay = Math.min(500 * 2 ** connection.attempt, 5000) * (0.7 + 0.6 * Math.random());
    Object.assign(connection.config, { reconnectJitter: 0, reconnectDelay: delay, reconnectMaxDelay: delay });
  }
  function connectNow() {
    nextTry = 0;
    if (connection?.delayCanceller) connection.delayCanceller();
    else connection?.reader?.cancel();
    markStale(now());
  }
  // A stream also ends with the session. It goes on after the user has signed in again.
  let asked = -Infinity;
  async function sayIfSignedOut(at) {
    asked = at;
    const isOver = (await session())?.status === 401;
    const isSaid = ['#session-over', '#session-ended'].some((notice) => !one(notice).hidden);
    if (isOver && cut !== null && !isSaid) showNotice('session-ended');
  }
  const cutNow = () => { if (cut === null && !document.hidden) cut = now(); };
  const alive = () => {
    if (cut !== null) hideNotices(ofStream);
    cut = null;
    asked = -Infinity;
    heard = now();
  };
  document.addEventListener('htmx:sse:error', cutNow);
  // A filter replaces the stream: its end is no cut.
  document.addEventListener('htmx:sse:close', (event) => { if (event.detail.reason === 'ended') cutNow(); });
  document.addEventListener('htmx:sse:before:connection', (event) => {
    if (event.detail.connection.attempt === 0) return;
    cutNow();
    nextTry = now() + event.detail.connection.config.reconnectMaxDelay;
    chooseDelay(event.detail.connection);
  });
  document.addEventListener('htmx:sse:after:connection', (event) => {
    connection = event.detail.connection;
    chooseDelay(connection);
    alive();
  });
  document.addEventListener('visibilitychange', () => { heard = now(); });
  document.addEventListener('htmx:sse:after:message', alive);
  // A tab that was opened in the background is hidden without a change: its stream pauses after the first message.
  document.addEventListener('htmx:sse:after:message', () => {
    if (document.hidden) document.dispatchEvent(new Event('visibilitychange'));
  });
  window.addEventListener('offline', cutNow);

  // A form is sent only while its user is signed in and the node answers: what was typed would be lost with the page.
  const session = () =>
    fetch('/console/session', { cache: 'no-store', signal: AbortSignal.timeout(5000) }).catch(() => null);
  let isSending = false;
  // One notice at a time, beside the button that was pressed.
  const ofStream = '#session-over, #session-ended, #no-answer';
  function hideNotices(which = ofStream + ', #other-account') {
    for (const notice of all(which)) notice.hidden = true;
  }
  function showNotice(id, form, button) {
    hideNotices();
    const notice = one('#' + id);
    const place = form?.contains(button) ? button.closest('footer, .acts') : null;
    if (place) place.before(notice);
    else one('main').prepend(notice);
    notice.hidden = false;
    notice.scrollIntoView({ block: 'nearest' });
  }
  // The notice that says why a form cannot be sent, or null.
  async function whyUnsent() {
    const answer = await session();
    if (answer?.status === 401) return 'session-over';
    if (answer?.status === 503) return 'no-answer';
    if (answer && !answer.ok) return null;
    const present = await answer?.json().catch(() => null);
    if (!present) return 'no-answer';
    if (present.user !== root.dataset.user) return 'other-account';
    // The person may have signed in again on another tab.
    for (const field of all('input[name=csrf_token]')) field.value = present.csrf_token;
    return null;
  }
  // An update may have removed the button meanwhile. Its address and its value are in a copy of it.
  function submit(form, button) {
    const copy = button && button.form !== form ? button.cloneNode() : null;
    if (copy) { copy.hidden = true; form.append(copy); }
    try {
      form.requestSubmit(button?.form === form ? button : copy);
    } finally {
      copy?.remove();
    }
  }
  // Forms that wait for the answer, or were sent a moment ago: a second press sends nothing.
  const underWay = new Set();
  async function sendIfSignedIn(form, button) {
    if (underWay.has(form)) return;
    underWay.add(form);
    let sent = false;
    try {
      const why = await whyUnsent();
      hideNotices();
      if (why) { showNotice(why, form, button); return; }
      isSending = true;
      sent = true;
      submit(form, button);
    } finally {
      isSending = false;
      if (sent) setTimeout(() => underWay.delete(form), 1000);
      else underWay.delete(form);
    }
  }
  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (isSending || event.defaultPrevented || form.getAttribute('method') !== 'post') return;
    event.preventDefault();
    sendIfSignedIn(form, event.submitter);
  });

  // Copying. A page without TLS has no clipboard of its own, so a field of the page is copied there.
  function copyByField(text) {
    const before = document.activeElement;
    const field = document.createElement('textarea');
    field.className = 'vh';
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    before?.focus?.({ preventScroll: true });
    return done;
  }
  async function copyText(text) {
    const byBrowser = () => navigator.clipboard.writeText(text).then(() => true, () => copyByField(text));
    const done = navigator.clipboard && window.isSecureContext ? await byBrowser() : copyByField(text);
    const announce = one('#announce');
    if (announce && done) setText(announce, announce.dataset.copied);
  }

  // Picked rows: the bar counts them and adds up their amounts, the box in the head picks all of the page.
  const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ',');
  function inBytes(value) {
    const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
    let unit = 0;
    for (; value >= 999.5 && unit < names.length - 1; unit += 1) value /= 1024;
    return value.toFixed(unit === 0 || value >= 99.95 ? 0 : 1) + ' ' + names[unit];
  }
  // A row whose amount is not known has none: the sum is then a lower bound.
  function sumWords(bar, sum, isAtLeast) {
    if (sum === 0 || !bar.dataset.sum) return '';
    return ' · ' + (isAtLeast ? '≥ ' : '') + (bar.dataset.sum === 'bytes' ? inBytes(sum) : bar.dataset.files.replace('{n}', grouped(sum)));
  }
  function countPicked() {
    const boxes = all('input[name=pick]');
    const ticked = boxes.filter((box) => box.checked);
    const picked = ticked.length;
    const sum = ticked.reduce((before, box) => before + Number(box.dataset.amount ?? 0), 0);
    const isAtLeast = ticked.some((box) => box.dataset.amount === undefined);
    for (const bar of all('.bulk')) {
      const every = one('[data-pick-every]', bar);
      if (every && picked === 0) every.checked = false;
      const number = every?.checked ? Number(every.dataset.pickEvery) : picked;
      bar.dataset.picked = String(number);
      const count = one('[data-picked-count]', bar);
      if (count) setText(count, grouped(number));
      const words = one('[data-picked-sum]', bar);
      if (words) setText(words, every?.checked ? '' : sumWords(bar, sum, isAtLeast));
    }
    for (const box of boxes) {
      const row = box.closest('tr');
      if (box.checked) row?.setAttribute('aria-selected', 'true');
      else row?.removeAttribute('aria-selected');
    }
    for (const head of all('[data-pick-all]')) {
      head.checked = picked > 0 && picked === boxes.length;
      head.indeterminate = picked > 0 && picked < boxes.length;
    }
  }
  document.addEventListener('change', (event) => {
    if (event.target.matches('[data-pick-all]')) {
      for (const box of all('input[name=pick]')) box.checked = event.target.checked;
    }
    if (event.target.matches('[data-pick-all], [data-pick-every], input[name=pick]')) countPicked();
  });

  document.addEventListener('click', (event) => {
    const copy = event.target.closest('[data-copy]');
    if (copy) copyText(copy.dataset.copy);
    if (event.target.closest('[data-dismiss]')) event.target.closest('[data-toast]')?.remove();
    if (event.target.closest('[data-connect]')) connectNow();
    if (event.target.closest('[data-keys]')) showKeys();
    if (event.target.closest('[data-find]') && one('#palette')) { event.preventDefault(); openPalette(); }
    const hit = event.target.closest('#found a, #recent a');
    if (hit) keepRecent(hit);
    if (event.target.closest('[data-keys-switch]')) switchLetters();
    if (event.target.closest('[data-pick-none]')) {
      event.preventDefault();
      for (const box of all('input[name=pick]')) box.checked = false;
      countPicked();
    }
    for (const menu of all('details.menu[open], details.more-pages[open]')) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });

  // Toasts leave after 8 seconds, later while hovered or focused.
  function leaveLater(toast) {
    setTimeout(() => {
      if (toast.matches(':hover, :focus-within')) leaveLater(toast);
      else toast.remove();
    }, 8000);
  }

  // Dialogs and side panels: Esc closes, focus stays within a dialog.
  const showKeys = () => { const sheet = one('#keys'); if (sheet && !sheet.open) sheet.showModal(); };
  function keepWithin(event, dialog) {
    const inside = all('a[href], button, input:not([type=hidden]), select, textarea, summary', dialog);
    const edge = event.shiftKey ? inside[0] : inside[inside.length - 1];
    if (document.activeElement === edge) {
      event.preventDefault();
      (event.shiftKey ? inside[inside.length - 1] : inside[0])?.focus();
    }
  }

  // The palette: a field over a list of links. Arrows lead through the list, and Enter opens its first link. Before
  // anything is typed, the list has the last five things that were opened.
  const recentKey = 'recent of ' + root.dataset.user;
  function recent() {
    try {
      return JSON.parse(sessionStorage.getItem(recentKey) ?? '[]').filter((one) => one?.words && one.address);
    } catch {
      return [];
    }
  }
  function keepRecent(link) {
    const kept = { words: link.textContent, address: link.getAttribute('href') };
    const others = recent().filter((one) => one.address !== kept.address);
    sessionStorage.setItem(recentKey, JSON.stringify([kept, ...others].slice(0, 5)));
  }
  function showRecent() {
    const list = one('#recent');
    list.replaceChildren(...recent().map(({ words, address }) => {
      const link = document.createElement('a');
      link.setAttribute('href', address);
      link.dir = 'auto';
      link.textContent = words;
      const line = document.createElement('li');
      line.append(link);
      return line;
    }));
    list.hidden = list.children.length === 0;
  }
  function openPalette() {
    const palette = one('#palette');
    if (!palette) { one('[data-palette-field]')?.focus(); return; }
    showRecent();
    if (!palette.open) palette.showModal();
    const field = one('[data-palette-field]', palette);
    field.select();
    // The list also has the actions of this page.
    if (!field.value) field.dispatchEvent(new Event('input', { bubbles: true }));
  }
  function inPalette(event) {
    const field = one('#palette[open] [data-palette-field]') ?? one('main [data-palette-field]');
    if (!field) return false;
    const links = all('#found a[href], #recent:not([hidden]) a[href]');
    const places = [field, ...links];
    const at = places.indexOf(document.activeElement);
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (at >= 0 && by) {
      places[Math.min(Math.max(at + by, 0), places.length - 1)].focus();
      return true;
    }
    const sought = field.value.trim();
    const isAnswered = sought !== '' && one('#found').dataset.q === sought;
    if (at !== 0 || event.key !== 'Enter' || !isAnswered || links.length === 0) return false;
    links[0].click();
    return true;
  }
  document.addEventListener('input', (event) => {
    if (event.target.matches('#palette [data-palette-field]')) one('#recent').hidden = event.target.value !== '' || !recent().length;
  });

  // Keys go by their place on the keyboard, so that a Korean layout has the same ones.
  const pages = {
    KeyY: '', KeyH: 'hosts', KeyF: 'files', KeyT: 'tasks', KeyP: 'plan', KeyM: 'map', KeyS: 'shares',
    KeyB: 'boxes', KeyI: 'history', KeyA: 'audit', Comma: 'settings',
  };
  let going = 0;
  const letters = () => localStorage.getItem('letters') !== 'off';
  function switchLetters() {
    localStorage.setItem('letters', letters() ? 'off' : 'on');
    showSwitch();
  }
  const showSwitch = () => one('[data-keys-switch]')?.setAttribute('aria-pressed', String(letters()));
  const rows = () => all('[data-rows] tbody tr');
  function step(by) {
    const list = rows();
    const at = list.findIndex((row) => row.classList.contains('at'));
    const next = list[Math.min(Math.max(at + by, 0), list.length - 1)];
    list[at]?.classList.remove('at');
    next?.classList.add('at');
    next?.scrollIntoView({ block: 'nearest' });
    one('a[href]', next ?? document.createElement('tr'))?.focus({ preventScroll: true });
  }
  const current = () => one('[data-rows] tbody tr.at') ?? document.activeElement?.closest('tr');
  // With Shift, the rows since the last picked one are picked too.
  let lastPicked = '';
  function pick(withRows) {
    const row = current();
    const box = row && one('input[name=pick]', row);
    if (!box) return;
    const list = rows();
    const [from, to] = [list.findIndex((other) => other.id === lastPicked), list.indexOf(row)];
    if (withRows && from >= 0) {
      const boxes = list.slice(Math.min(from, to), Math.max(from, to) + 1).map((other) => one('input[name=pick]', other));
      for (const other of boxes) if (other) other.checked = true;
      countPicked();
    } else box.click();
    lastPicked = row.id;
  }
  function goOr(code) {
    if (Date.now() - going < 1500 && code in pages) {
      location.assign('/console' + (pages[code] ? '/' + pages[code] : ''));
      return true;
    }
    going = 0;
    return false;
  }
  const actions = {
    Slash: (event) => (event.shiftKey ? showKeys() : one('main [data-filter]')?.focus()),
    KeyG: () => { going = Date.now(); },
    KeyJ: () => step(1),
    KeyK: () => step(-1),
    KeyW: () => one('.why-b', current() ?? document)?.click(),
    KeyX: (event) => pick(event.shiftKey),
    Period: () => one('.act summary, .act button, .act a', current() ?? document.createElement('tr'))?.focus(),
    KeyY: () => { const line = one('[data-copy]'); if (line) copyText(line.dataset.copy); },
  };
  document.addEventListener('keydown', (event) => {
    const dialog = one('[data-dialog]');
    if (event.key === 'Tab' && dialog) keepWithin(event, dialog);
    if (inPalette(event)) { event.preventDefault(); return; }
    // The browser closes an open sheet by itself.
    if (event.key === 'Escape' && one('dialog[open]')) return;
    if (event.key === 'Escape') {
      const menu = one('details.menu[open], details.more-pages[open]');
      if (menu) { menu.open = false; one('summary', menu).focus(); return; }
      (one('[data-cancel]') ?? one('[data-close]'))?.click();
      return;
    }
    if (event.code === 'KeyK' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      openPalette();
      return;
    }
    const inField = event.target.matches('input:not([type=checkbox]), textarea, select, [contenteditable]');
    if (inField || dialog || one('dialog[open]') || event.ctrlKey || event.metaKey || event.altKey || !letters()) return;
    if (goOr(event.code)) { event.preventDefault(); return; }
    const action = actions[event.code];
    if (action) { event.preventDefault(); action(event); }
  });

  // A panel or dialog that closes gives the focus back to the link or button that opened it.
  document.addEventListener('click', (event) => {
    if (!event.target.closest('[data-close], [data-cancel]')) return;
    sessionStorage.setItem('closed', location.pathname + location.search);
  });
  function focusOpener() {
    const closed = sessionStorage.getItem('closed');
    sessionStorage.removeItem('closed');
    if (!closed) return;
    const asked = new URLSearchParams(closed.split('?')[1]).get('ask');
    const opener = all('main a[href]').find((link) => link.getAttribute('href') === closed)
      ?? all('main button[name=ask]').find((button) => button.value === asked);
    opener?.focus();
  }

  // Rows that a person reads, points at or has picked keep their places. New ones wait until they are asked for.
  function isRead(rows) {
    return rows.matches(':hover, :focus-within') || rows.getBoundingClientRect().top < 0
      || one('input[name=pick]:checked', rows) !== null || one('[data-dialog], details.menu[open]') !== null;
  }
  function holdNew(shown, fresh) {
    const body = one('tbody', shown);
    const coming = one('tbody', fresh);
    const bar = one('[data-new-rows]', fresh);
    if (!body || !coming || !bar || [...body.rows].some((row) => !row.id)) return false;
    const updated = new Map([...coming.rows].map((row) => [row.id, row]));
    // A row that has left the list is marked, so that nobody takes it for one of now.
    const gone = (row) => { const copy = row.cloneNode(true); copy.classList.add('gone'); return copy; };
    const kept = [...body.rows].map((row) => updated.get(row.id) ?? gone(row));
    const wanted = [...coming.rows].map((row) => row.id);
    const added = updated.size - [...body.rows].filter((row) => updated.has(row.id)).length;
    coming.replaceChildren(...kept);
    bar.hidden = added === 0;
    one('a', bar).textContent = added === 0 ? '' : bar.dataset.newRows.replace('{n}', grouped(added));
    return added > 0 || kept.some((row, place) => row.id !== wanted[place]);
  }
  // The rows whose states changed flash once.
  function markChanged(shown, fresh) {
    const states = (row) => all('.st', row).map((state) => state.textContent).join();
    for (const row of all('tr[id]', fresh)) {
      const before = document.getElementById(row.id);
      row.classList.toggle('changed', shown.contains(before) && states(before) !== states(row));
    }
  }
  // Rows and an order that were held come when nobody reads the table any more. The stream begins again without the id
  // of its last message, so that the node sends the whole table: later messages may have single rows only.
  let isHeld = false;
  let askedWhole = -Infinity;
  function showHeld(at) {
    if (!isHeld || !connection || cut !== null || at - askedWhole < 5000 || isRead(one('#rows'))) return;
    askedWhole = at;
    connection.lastEventId = '';
    connection.reader?.cancel();
  }
  document.addEventListener('htmx:before:swap', (event) => {
    if (event.target.id !== 'stream') return;
    for (const task of event.detail.tasks) {
      const shown = task.target;
      const isTable = shown?.id === 'rows';
      if (!isTable && !shown?.matches('#rows tr')) continue;
      markChanged(shown, task.fragment);
      if (isTable) isHeld = isRead(shown) && holdNew(shown, task.fragment);
    }
  });

  // The preview of a new link follows the fields. The node looks at the path when the field is left.
  function previewLink() {
    const preview = one('[data-preview]');
    const form = preview?.closest('form');
    if (!form) return;
    const value = (name) => form.elements.namedItem(name)?.value.trim() ?? '';
    const name = value('path').split('/').filter(Boolean).pop();
    setText(one('[data-preview-name]', preview), name ?? preview.dataset.noName);
    const terms = [];
    if (value('password')) terms.push(preview.dataset.password);
    if (value('max_downloads')) terms.push(preview.dataset.most.replace('{n}', value('max_downloads')));
    setText(one('[data-preview-terms]', preview), terms.join(' · '));
    const preset = one('input[name=preset]:checked', form);
    const ends = value('ttl') || preset?.dataset.words || '';
    setText(one('[data-preview-ends]', preview), ends && preview.dataset.ends.replace('{ttl}', ends));
  }
  document.addEventListener('input', (event) => {
    if (event.target.form && one('[data-preview]', event.target.form)) previewLink();
  });
  // The command lines of a form follow its fields. One request is under way at a time; the node quotes the values.
  // A password stays in its field: the address only says that there is one.
  let followed = 0;
  let isAsked = false;
  function typedIn(form) {
    const typed = new URLSearchParams();
    for (const field of form.elements) {
      const isChosen = field.type !== 'radio' || field.checked;
      if (!field.name || !field.value || field.type === 'hidden' || !isChosen) continue;
      typed.set(field.name, field.type === 'password' ? 'true' : field.value);
    }
    return typed.toString();
  }
  function followLater(form) {
    clearTimeout(followed);
    followed = setTimeout(() => follow(form), 250);
  }
  async function follow(form) {
    if (isAsked) { followLater(form); return; }
    isAsked = true;
    const lines = { target: '#commands', select: '#commands', swap: 'outerMorph' };
    await fetchPart(form.dataset.follow + typedIn(form), lines);
    isAsked = false;
  }
  // Without a session the answer would lead to the login, and typed text would be lost. The session may also end after
  // this question.
  let partsAwaited = 0;
  async function fetchPart(address, part) {
    if (!(await session())?.ok) return;
    partsAwaited += 1;
    await htmx.ajax('GET', address, part).catch(() => null);
    partsAwaited -= 1;
  }
  document.addEventListener('htmx:before:response', (event) => {
    if (partsAwaited > 0 && event.detail.ctx.response.status === 401) event.preventDefault();
  });
  document.addEventListener('input', (event) => {
    const form = event.target.form;
    if (form?.dataset.follow && one('#commands', form)) followLater(form);
  });
  document.addEventListener('change', (event) => {
    const look = event.target.dataset?.look;
    if (!look || !event.target.value) return;
    const address = look + encodeURIComponent(event.target.value);
    fetchPart(address, { target: '#new-found', select: '#new-found', swap: 'outerMorph' });
  });

  // A filter that is not answered keeps the rows and the address of the one before, and says why. Grey bars show that
  // rows are awaited for long.
  let waiting = 0;
  const isFilter = (event) => event.target.id === 'filters';
  function showAwaited(isAwaited) {
    root.classList.toggle('is-asking', isAwaited);
    one('#rows')?.setAttribute('aria-busy', String(isAwaited));
  }
  function showUnanswered(status) {
    root.classList.toggle('is-unanswered', status !== null);
    const notice = one('#unanswered');
    notice.hidden = status === null;
    const reasons = all('[data-status]', notice);
    const reason = reasons.find((words) => words.dataset.status === String(status))
      ?? reasons.find((words) => words.dataset.status === String(status)[0]);
    for (const words of reasons) words.hidden = words !== reason;
  }
  document.addEventListener('htmx:before:request', (event) => {
    if (!isFilter(event)) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => showAwaited(true), 300);
  });
  document.addEventListener('htmx:finally:request', (event) => {
    if (!isFilter(event)) return;
    clearTimeout(waiting);
    showAwaited(false);
  });
  document.addEventListener('htmx:after:request', (event) => {
    const { response, hx } = event.detail.ctx;
    if (isFilter(event) && !hx.redirect) showUnanswered(response.status >= 400 ? response.status : null);
  });
  document.addEventListener('htmx:error', (event) => { if (isFilter(event)) showUnanswered(0); });
  document.addEventListener('htmx:before:history:update', (event) => {
    if (event.detail.response?.status >= 400) event.preventDefault();
  });

  // A filter that was replaced keeps its picked rows counted; a panel that opens gets the focus.
  document.addEventListener('htmx:after:swap', () => { countPicked(); countAges(); });
  document.addEventListener('DOMContentLoaded', () => {
    countAges();
    countPicked();
    previewLink();
    showSwitch();
    all('[data-toast]').forEach(leaveLater);
    const dialog = one('[data-dialog]');
    // The browser itself goes to an element that asks for the focus.
    if (dialog) { if (!one('[autofocus]', dialog)) one('button, a', dialog)?.focus(); }
    else if (one('[data-panel]')) one('[data-panel] [tabindex="-1"]')?.focus({ preventScroll: true });
    else focusOpener();
    setInterval(countAges, 1000);
  });
})();

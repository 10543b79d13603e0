// The console's own script: ages, keys, picked rows, copying, dialogs, and the mark of a stale page.
// Every action also works without it. It writes no markup, so it needs no Trusted Types policy.
(() => {
  'use strict';
  const root = document.documentElement;
  root.classList.add('js');
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const korean = root.lang === 'ko';

  // The server writes instants in the zone of the browser. The live parts of the first page get it too.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && /^[\w+/-]{1,64}$/.test(zone)) {
    document.cookie = 'reelyard_zone=' + zone + '; path=/console; max-age=31536000; samesite=lax';
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
    markStale(at);
  }

  // A page whose stream is cut says so, with the age of what it shows.
  let cut = null;
  function markStale(at) {
    const live = one('#live');
    const bar = one('#stale-bar');
    const seconds = cut === null ? 0 : Math.floor((at - cut) / 1000);
    const stale = seconds >= 5;
    root.classList.toggle('is-stale', stale);
    if (bar) {
      bar.hidden = !stale;
      if (stale) setText(bar, bar.dataset.words.replace('{age}', age(seconds)));
    }
    if (live && one('#stream')) {
      live.classList.toggle('stale', stale);
      const words = one('[data-live-words]', live);
      if (words) setText(words, stale ? live.dataset.stale.replace('{age}', age(seconds)) : live.dataset.live);
    }
  }
  const cutNow = () => { if (cut === null && !document.hidden) cut = now(); };
  const alive = () => { cut = null; };
  for (const name of ['htmx:sse:error', 'htmx:sse:close', 'htmx:after:sse:connection']) {
    document.addEventListener(name, name.endsWith('connection') ? alive : cutNow);
  }
  document.addEventListener('htmx:before:sse:reconnect', cutNow);
  document.addEventListener('htmx:after:sse:message', alive);
  window.addEventListener('offline', cutNow);

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

  // Picked rows: the bar counts them, the box in the head picks all.
  function countPicked() {
    const boxes = all('input[name=pick]');
    const picked = boxes.filter((box) => box.checked).length;
    for (const bar of all('.bulk')) {
      bar.dataset.picked = String(picked);
      const count = one('[data-picked-count]', bar);
      if (count) setText(count, String(picked));
    }
    for (const box of boxes) {
      const row = box.closest('tr');
      if (box.checked) row?.setAttribute('aria-selected', 'true');
      else row?.removeAttribute('aria-selected');
    }
    const head = one('[data-pick-all]');
    if (head) {
      head.checked = picked > 0 && picked === boxes.length;
      head.indeterminate = picked > 0 && picked < boxes.length;
    }
  }
  document.addEventListener('change', (event) => {
    if (event.target.matches('[data-pick-all]')) {
      for (const box of all('input[name=pick]')) box.checked = event.target.checked;
    }
    if (event.target.matches('[data-pick-all], input[name=pick]')) countPicked();
  });

  document.addEventListener('click', (event) => {
    const copy = event.target.closest('[data-copy]');
    if (copy) copyText(copy.dataset.copy);
    if (event.target.closest('[data-dismiss]')) event.target.closest('[data-toast]')?.remove();
    if (event.target.closest('[data-keys]')) showKeys();
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
    const inside = all('a[href], button, input:not([type=hidden]), summary', dialog);
    const edge = event.shiftKey ? inside[0] : inside[inside.length - 1];
    if (document.activeElement === edge) {
      event.preventDefault();
      (event.shiftKey ? inside[inside.length - 1] : inside[0])?.focus();
    }
  }

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
  function goOr(code) {
    if (Date.now() - going < 1500 && code in pages) {
      location.assign('/console' + (pages[code] ? '/' + pages[code] : ''));
      return true;
    }
    going = 0;
    return false;
  }
  const actions = {
    Slash: (event) => (event.shiftKey ? showKeys() : one('[data-filter]')?.focus()),
    KeyG: () => { going = Date.now(); },
    KeyJ: () => step(1),
    KeyK: () => step(-1),
    KeyW: () => one('.why-b', current() ?? document)?.click(),
    KeyX: () => one('input[name=pick]', current() ?? document.createElement('tr'))?.click(),
    KeyY: () => { const line = one('[data-copy]'); if (line) copyText(line.dataset.copy); },
  };
  document.addEventListener('keydown', (event) => {
    const dialog = one('[data-dialog]');
    if (event.key === 'Tab' && dialog) keepWithin(event, dialog);
    if (event.key === 'Escape') {
      const menu = one('details.menu[open], details.more-pages[open]');
      if (menu) { menu.open = false; one('summary', menu).focus(); return; }
      (one('[data-cancel]') ?? one('[data-close]'))?.click();
      return;
    }
    if (event.code === 'KeyK' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      one('[data-find]')?.click();
      return;
    }
    const inField = event.target.matches('input:not([type=checkbox]), textarea, select, [contenteditable]');
    if (inField || dialog || event.ctrlKey || event.metaKey || event.altKey || !letters()) return;
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

  // A filter that was replaced keeps its picked rows counted; a panel that opens gets the focus.
  document.addEventListener('htmx:after:swap', () => { countPicked(); countAges(); });
  document.addEventListener('DOMContentLoaded', () => {
    countAges();
    countPicked();
    showSwitch();
    all('[data-toast]').forEach(leaveLater);
    const dialog = one('[data-dialog]');
    if (dialog) (one('[autofocus]', dialog) ?? one('button, a', dialog))?.focus();
    else if (one('[data-panel]')) one('[data-panel] [tabindex="-1"]')?.focus({ preventScroll: true });
    else focusOpener();
    setInterval(countAges, 1000);
  });
})();

// The script of the page of a link: time left, local times, copying. The page also works without it.
(function () {
  'use strict';
  var root = document.documentElement;
  var korean = root.lang === 'ko';
  root.classList.add('js');
  function all(selector) { return Array.prototype.slice.call(document.querySelectorAll(selector)); }
  function two(number) { return (number < 10 ? '0' : '') + number; }

  // Time left as on a clock: 6 days 23:41:12, 1:04:10, 9:31.
  function left(seconds) {
    var days = Math.floor(seconds / 86400);
    var hours = Math.floor(seconds % 86400 / 3600);
    var rest = two(Math.floor(seconds % 3600 / 60)) + ':' + two(seconds % 60);
    if (days) {
      return days + (korean ? '일 ' : days === 1 ? ' day ' : ' days ') + two(hours) + ':' + rest;
    }
    return hours ? hours + ':' + rest : rest.replace(/^0/, '');
  }
  all('.countdown').forEach(function (shown) {
    // Counted from the arrival of the page, because the clock of the device may be wrong.
    var end = performance.now() + Number(shown.dataset.left);
    var timer = setInterval(tick, 1000);
    function tick() {
      var rest = end - performance.now();
      if (rest <= 0) { clearInterval(timer); location.reload(); return; }
      shown.textContent = left(Math.floor(rest / 1000));
    }
    tick();
  });

  // Times in the zone of the device, with its offset.
  var days = korean ? '일월화수목금토' : 'Sun Mon Tue Wed Thu Fri Sat'.split(' ');
  var months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
  function offset(at) {
    var minutes = -at.getTimezoneOffset();
    var size = Math.abs(minutes);
    return (minutes < 0 ? '-' : '+') + two(Math.floor(size / 60)) + ':' + two(size % 60);
  }
  function local(at) {
    var clock = two(at.getHours()) + ':' + two(at.getMinutes());
    if (korean) {
      return at.getFullYear() + '년 ' + (at.getMonth() + 1) + '월 ' + at.getDate() + '일(' + days[at.getDay()] + ') ' + clock;
    }
    return days[at.getDay()] + ' ' + at.getDate() + ' ' + months[at.getMonth()] + ' ' + at.getFullYear() + ' ' + clock;
  }
  all('time[data-local]').forEach(function (time) {
    var at = new Date(time.dateTime);
    if (isNaN(at)) { return; }
    time.textContent = local(at);
    time.title = at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate()) + ' ' + two(at.getHours()) +
      ':' + two(at.getMinutes()) + ':' + two(at.getSeconds()) + ' ' + offset(at);
  });
  // The offset is that of the shown time: it can be another one than today's.
  all('[data-zone]').forEach(function (words) {
    var zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    var time = document.querySelector('time[data-local]');
    var at = time ? new Date(time.dateTime) : new Date();
    words.textContent = words.dataset.zone.replace('{zone}', zone + ', UTC' + offset(isNaN(at) ? new Date() : at));
  });

  // Copying. Pages without TLS have no clipboard of their own, so a field of the page is copied there.
  function copied(button) {
    var announce = document.getElementById('announce');
    if (announce) { announce.textContent = announce.dataset.copied; }
    var label = button.querySelector('[data-label]');
    if (!label || label.dataset.before) { return; }
    label.dataset.before = label.textContent;
    label.textContent = announce.dataset.copied;
    setTimeout(function () {
      label.textContent = label.dataset.before;
      delete label.dataset.before;
      announce.textContent = '';
    }, 2000);
  }
  function copyByField(text, button) {
    var field = document.createElement('textarea');
    field.value = text;
    field.className = 'vh';
    document.body.appendChild(field);
    field.select();
    if (document.execCommand('copy')) { copied(button); }
    field.remove();
    button.focus();
  }
  document.addEventListener('click', function (event) {
    var button = event.target.closest('[data-copy]');
    if (!button) { return; }
    var text = button.dataset.copy || location.origin + location.pathname;
    if (navigator.clipboard && window.isSecureContext) {
      navigator.clipboard.writeText(text).then(function () { copied(button); }, function () { copyByField(text, button); });
    } else {
      copyByField(text, button);
    }
  });
  document.addEventListener('keydown', function (event) {
    var menu = document.querySelector('details.menu[open]');
    if (event.key === 'Escape' && menu) { menu.open = false; menu.querySelector('summary').focus(); }
  });
})();

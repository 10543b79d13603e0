(function () {
  var units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  function words(left) {
    var i = units.findIndex(function (u) { return left >= u[1]; });
    if (i < 0) { i = 3; }
    return units.slice(i, i + 2).map(function (u) {
      var n = Math.floor(left / u[1]);
      left %= u[1];
      return n + " " + u[0];
    }).join(" ");
  }
  document.querySelectorAll(".countdown").forEach(function (span) {
    // Counted from when the page came: the clock here may be wrong.
    var end = performance.now() + Number(span.dataset.left);
    var timer = setInterval(tick, 1000);
    function tick() {
      var left = end - performance.now();
      if (left <= 0) { clearInterval(timer); location.reload(); return; }
      span.textContent = words(Math.floor(left / 1000));
    }
    tick();
  });
})();

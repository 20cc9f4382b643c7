// Ticks fifty times a second. A page's own timers are throttled in a hidden tab, a worker's are not.
setInterval(() => postMessage(0), 20);

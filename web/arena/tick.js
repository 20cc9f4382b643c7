// Ticks fifty times a second. A page's own timers are slowed down in a hidden tab, a worker's are not.
setInterval(() => postMessage(0), 20);

/** Playout delay and age of the last 90 seconds. */

const SECONDS = 90;
const PAD = { left: 34, right: 6, top: 8, bottom: 18 };

/** Draws `[playout, age, unused share]` of each second, oldest first. */
export function drawChart(canvas, history) {
  const ratio = Math.min(devicePixelRatio || 1, 3);
  const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
  if (wide === 0 || high === 0) return;
  Object.assign(canvas, { width: Math.round(wide * ratio), height: Math.round(high * ratio) });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name);
  const most = Math.max(100, ...history.map(([playout, age]) => Math.max(playout ?? 0, age ?? 0)));
  const top = Math.ceil(most / 100) * 100;
  const x = (second) => PAD.left + (second / (SECONDS - 1)) * (wide - PAD.left - PAD.right);
  const y = (millis) => PAD.top + (1 - millis / top) * (high - PAD.top - PAD.bottom);

  context.font = "11px system-ui, sans-serif";
  context.fillStyle = colour("--quiet");
  context.strokeStyle = colour("--line");
  context.textAlign = "right";
  for (let millis = 0; millis <= top; millis += top > 400 ? 200 : 100) {
    context.beginPath();
    context.moveTo(PAD.left, y(millis));
    context.lineTo(wide - PAD.right, y(millis));
    context.stroke();
    context.fillText(`${millis}`, PAD.left - 5, y(millis) + 4);
  }
  context.fillText("now", wide - PAD.right, high - 4);
  context.textAlign = "left";
  context.fillText("ms, 90 s ago", PAD.left, high - 4);

  for (const [place, name] of [[1, "--p5"], [0, "--accent"]]) {
    context.strokeStyle = colour(name);
    context.lineWidth = 2;
    context.beginPath();
    let isDown = false;
    history.forEach((second, number) => {
      const value = second[place];
      if (value === null) {
        isDown = false;
        return;
      }
      const at = [x(SECONDS - history.length + number), y(value)];
      if (isDown) context.lineTo(...at);
      else context.moveTo(...at);
      isDown = true;
    });
    context.stroke();
  }
}

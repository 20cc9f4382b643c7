/**
 * A canvas that has the display's pixels.
 *
 * It asks the page for its size only when that may have changed: to answer, the browser has to lay out whatever was changed since.
 */

/** Pixel ratios above this cost more than they show. */
const RATIO_MAX = 3;

export class Surface {
  constructor(canvas, options) {
    Object.assign(this, { canvas, context: canvas.getContext("2d", options) });
    /** Its size in the page's pixels. */
    this.wide = 0;
    this.high = 0;
    this.isKnown = false;
    new ResizeObserver(() => {
      this.isKnown = false;
    }).observe(canvas);
  }

  /** Pixels of the canvas for one of the page's. */
  get ratio() {
    return this.wide > 0 ? this.canvas.width / this.wide : 1;
  }

  /**
   * Whether there is something to draw on. In a tiny window there may be nothing, and browsers refuse to copy from a canvas without
   * pixels.
   */
  get isThere() {
    return this.wide > 0 && this.high > 0 && this.canvas.width > 0 && this.canvas.height > 0;
  }

  /** Gives the canvas the display's pixels. Returns whether its size or theirs has changed. One that is hidden keeps what it has. */
  fit() {
    if (this.isKnown && this.display === devicePixelRatio) return false;
    const { canvas, wide, high } = this;
    Object.assign(this, { isKnown: true, display: devicePixelRatio, wide: canvas.clientWidth, high: canvas.clientHeight });
    const ratio = Math.min(devicePixelRatio || 1, RATIO_MAX);
    const [width, height] = [Math.round(this.wide * ratio), Math.round(this.high * ratio)];
    const isOther = canvas.width !== width || canvas.height !== height;
    if (isOther && width > 0 && height > 0) Object.assign(canvas, { width, height });
    return isOther || this.wide !== wide || this.high !== high;
  }
}

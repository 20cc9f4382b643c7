/**
 * A canvas at the display's resolution.
 *
 * Reading an element's size forces a layout, so it happens only when the size may have changed.
 */

/** Higher pixel ratios cost more than they show. */
const RATIO_MAX = 3;

export class Surface {
  constructor(canvas, options) {
    Object.assign(this, { canvas, context: canvas.getContext("2d", options) });
    /** Size in CSS pixels. */
    this.wide = 0;
    this.high = 0;
    this.isKnown = false;
    new ResizeObserver(() => {
      this.isKnown = false;
    }).observe(canvas);
  }

  /** Canvas pixels per CSS pixel. */
  get ratio() {
    return this.wide > 0 ? this.canvas.width / this.wide : 1;
  }

  /**
   * True if there is something to draw on. In a tiny window there may be nothing, and browsers refuse to copy from an
   * empty canvas.
   */
  get isVisible() {
    return this.wide > 0 && this.high > 0 && this.canvas.width > 0 && this.canvas.height > 0;
  }

  /** Adjusts the canvas to the display. Returns whether a size has changed. A hidden canvas keeps its content. */
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

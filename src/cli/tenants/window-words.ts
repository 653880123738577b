import { momentText, windowText } from '../../core/wall-clock/index.ts'
import type { BoxWindow } from '../../core/windows/index.ts'

/** `mon-fri 02:00-05:00 Europe/Berlin, that of its tier`, or `any time`. */
export const windowWords = (window: BoxWindow | null): string =>
  window ? `${windowText(window.window)} ${window.timeZone}${window.own ? '' : ', that of its tier'}` : 'any time'

/** Until when it is open, or when it opens, by its own clock and in UTC. */
export const openingWords = ({ opensAt, closesAt, timeZone }: BoxWindow, now: Date): string =>
  Date.parse(opensAt) <= now.getTime() ? `open until ${momentText(closesAt, timeZone)}` : `opens ${momentText(opensAt, timeZone)}`

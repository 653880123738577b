import type { Random } from '../../core/kit/index.ts'
import { networkKey } from '../../core/limits/index.ts'

/** Reconnect delay of one stream. */
type Delay = Readonly<{
  /** Counts the stream; returns its first delay in milliseconds. */
  opened(): number
  closed(): void
  /** A new delay if the number of streams has at least doubled since the last one. */
  changed(): number | undefined
}>

const minMs = 2000
const minSpreadMs = 4000
const maxSpreadMs = 40_000
/** Below the rate at which the platform's edge lets streams of one address pass (`config/edge`). */
const perSecondOfAddress = 80
/** Streams that a daemon opens per second without delaying other calls. */
const perSecondInAll = 400

/** Spreads the clients that reconnect after a restart, by the number of streams of their address and of this daemon. */
export class ReconnectDelays {
  readonly #random: Random
  readonly #open = new Map<string, number>()
  #inAll = 0

  constructor(random: Random) {
    this.#random = random
  }

  of(address: string): Delay {
    const key = networkKey(address)
    let spreadMs = 0
    const next = (current: number) => {
      spreadMs = current
      const [high = 0, low = 0] = this.#random.bytes(2)
      return minMs + Math.floor(((256 * high + low) * spreadMs) / 65_536)
    }
    return {
      opened: () => {
        this.#count(key, 1)
        return next(this.#spreadMs(key))
      },
      closed: () => this.#count(key, -1),
      changed: () => {
        const current = this.#spreadMs(key)
        return current >= 2 * spreadMs ? next(current) : undefined
      },
    }
  }

  #count(key: string, by: 1 | -1): void {
    this.#inAll += by
    const count = (this.#open.get(key) ?? 0) + by
    if (count > 0) this.#open.set(key, count)
    else this.#open.delete(key)
  }

  #spreadMs(key: string): number {
    const seconds = Math.max((this.#open.get(key) ?? 0) / perSecondOfAddress, this.#inAll / perSecondInAll)
    return Math.min(maxSpreadMs, Math.max(minSpreadMs, 1000 * seconds))
  }
}

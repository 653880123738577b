import { type IsMember, positionMessage, type ResetReason, reaches, resetMessage } from '../../core/events/index.ts'
import { type Clock, isoNow, type PlatformPrincipal } from '../../core/kit/index.ts'
import type { Channel } from '../http/index.ts'
import type { EventBus } from './event-bus.ts'
import type { Follower, OutgoingEvent, Topic } from './topic.ts'

type Deps = Readonly<{ clock: Clock; bus: EventBus }>

/** Start position, and the reason for a reset message if positions were lost. */
export type Beginning = Readonly<{ seq: number; reset?: ResetReason }>

type Opened = Readonly<{ principal: PlatformPrincipal; authorization: string | undefined; seq: number }>

const comment = ': \n\n'

/** Reconnect delay of a stream that made room for a newer one, so that more open pages than slots do not end each other's streams all the time. */
const replacedRetryMs = 60_000

/**
 * The event stream of one client. It follows its topic, or first catches up from its own position: after it opened or was reauthenticated.
 * `#seq` only increases and events arrive in order, so each event is published exactly once.
 */
export class ClientStream implements Follower {
  principal: PlatformPrincipal
  readonly topic: Topic
  /** The authorization header of the request, for reauthentication. */
  readonly authorization: string | undefined
  /** The token's expiry in wall clock time. */
  readonly expiresAtMs: number
  readonly #deps: Deps
  #seq: number
  #channel: Channel | undefined
  /** Incremented at each pause; catch-up of an older generation stops. */
  #generation = 0

  constructor(deps: Deps, topic: Topic, { principal, authorization, seq }: Opened) {
    this.#deps = deps
    this.topic = topic
    this.principal = principal
    this.authorization = authorization
    this.expiresAtMs = tokenExpiryMs(authorization)
    this.#seq = seq
  }

  /** Sends the head of the stream; events follow after `resume`. `retryMs` is the client's reconnect delay. */
  begin(channel: Channel, { retryMs, reset }: Readonly<{ retryMs: number; reset?: ResetReason | undefined }>): void {
    this.#channel = channel
    channel.write(`retry: ${retryMs}\n${positionMessage(this.#seq, isoNow(this.#deps.clock))}`)
    if (reset) channel.write(resetMessage(this.#seq, isoNow(this.#deps.clock), reset))
  }

  /** Publishes nothing until `resume`, while the user's access is checked. Returns the new generation. */
  pause(): number {
    this.topic.followers.delete(this)
    this.#generation += 1
    return this.#generation
  }

  /** True if there was no other pause since. */
  isAt(generation: number): boolean {
    return generation === this.#generation
  }

  /** Continues at its position with the current capabilities. */
  resume(principal: PlatformPrincipal): void {
    const generation = this.pause()
    this.principal = principal
    void this.#catchUp(generation).catch(() => this.end())
  }

  publish({ seq, audience, bytes }: OutgoingEvent, isMember: IsMember): void {
    if (seq <= this.#seq) return
    this.#seq = seq
    if (bytes && reaches(audience, this.principal, isMember)) this.#channel?.write(bytes)
  }

  miss(seq: number): void {
    this.#seq = seq
    this.#channel?.write(resetMessage(seq, isoNow(this.#deps.clock), 'too_old'))
  }

  /** A keep-alive message that also moves the client's position past events for others, and may change its reconnect delay. */
  keepAlive(retryMs?: number): string {
    const position = this.topic.followers.has(this) && this.#seq > 0 ? positionMessage(this.#seq, isoNow(this.#deps.clock)) : comment
    return retryMs === undefined ? position : `retry: ${retryMs}\n${position}`
  }

  /** Ends the stream; a client with access reconnects. */
  end(): void {
    this.pause()
    this.#channel?.cut()
  }

  /** Ends the stream because a newer one of the user takes its slot. */
  replace(): void {
    this.#channel?.write(`retry: ${replacedRetryMs}\n\n`)
    this.end()
  }

  /** Reads page by page at the client's pace until it reaches the topic's position, then follows the topic. */
  async #catchUp(generation: number): Promise<void> {
    const { bus } = this.#deps
    const channel = this.#channel
    while (generation === this.#generation && channel && !channel.closed) {
      if (this.#seq >= this.topic.position) return void this.topic.followers.add(this)
      const page = await bus.readBehind(this.topic.stream, this.#seq)
      if (generation !== this.#generation) return
      if (page.hasGap || page.events.length === 0) this.miss(this.topic.position)
      for (const one of page.hasGap ? [] : page.events) {
        this.publish(one, page.isMember)
        await channel.drained()
        if (generation !== this.#generation) return
      }
    }
  }
}

/** Expiry of a verified token in milliseconds; 0 without the claim. */
function tokenExpiryMs(authorization: string | undefined): number {
  try {
    const claims = JSON.parse(Buffer.from(authorization?.split('.')[1] ?? '', 'base64url').toString()) as { exp?: unknown }
    return typeof claims.exp === 'number' ? claims.exp * 1000 : 0
  } catch {
    return 0
  }
}

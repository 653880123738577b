import { type IsMember, positionMessage, type ResetReason, reaches, resetMessage } from '../../core/events/index.ts'
import { type Clock, isoNow, type PlatformPrincipal } from '../../core/kit/index.ts'
import type { Channel } from '../http/index.ts'
import type { EventBus } from './event-bus.ts'
import type { Follower, Told, Topic } from './topic.ts'

type Deps = Readonly<{ clock: Clock; bus: EventBus }>

/** Where it begins, and what is said of that first. */
export type Beginning = Readonly<{ seq: number; reset?: ResetReason }>

type Opened = Readonly<{ principal: PlatformPrincipal; authorization: string | undefined; seq: number }>

const comment = Buffer.from(': \n\n')

/**
 * One client who listens. It follows its topic, or catches up by itself from where it is: after it came, or after its standing was in doubt.
 * `#seq` only rises and every event passes here in order, so none is told twice and none is left out.
 */
export class ClientStream implements Follower {
  principal: PlatformPrincipal
  readonly topic: Topic
  /** What it was opened with; whether that still stands is asked anew when there is a doubt. */
  readonly authorization: string | undefined
  /** Wall clock, as the token has it. */
  readonly expiresAtMs: number
  readonly #needs: Deps
  #seq: number
  #channel: Channel | undefined
  /** Rises with each new start: what was under way before has nothing to say any more. */
  #course = 0

  constructor(deps: Deps, topic: Topic, { principal, authorization, seq }: Opened) {
    this.#needs = deps
    this.topic = topic
    this.principal = principal
    this.authorization = authorization
    this.expiresAtMs = tokenExpiryMs(authorization)
    this.#seq = seq
  }

  /** Says hello; events come from `resume` on. `retryMs` is when the client comes back after a loss: not all at once. */
  begin(channel: Channel, { retryMs, reset }: Readonly<{ retryMs: number; reset?: ResetReason | undefined }>): void {
    this.#channel = channel
    channel.write(`retry: ${retryMs}\nid: ${this.#seq}\n\n`)
    if (reset) channel.write(resetMessage(this.#seq, isoNow(this.#needs.clock), reset))
  }

  /** Tells nothing until `resume`: nobody knows whether this user may still hear. */
  pause(): number {
    this.topic.followers.delete(this)
    this.#course += 1
    return this.#course
  }

  /** Nothing else happened since that pause. */
  isAt(course: number): boolean {
    return course === this.#course
  }

  /** Goes on where it was, with the capabilities of now. */
  resume(principal: PlatformPrincipal): void {
    const course = this.pause()
    this.principal = principal
    void this.#catchUp(course).catch(() => this.end())
  }

  tell({ seq, audience, bytes }: Told, isMember: IsMember): void {
    if (seq <= this.#seq) return
    this.#seq = seq
    if (bytes && reaches(audience, this.principal, isMember)) this.#channel?.write(bytes)
  }

  miss(seq: number): void {
    this.#seq = seq
    this.#channel?.write(resetMessage(seq, isoNow(this.#needs.clock), 'too_old'))
  }

  /** Keeps the connection open, and takes the client's position past what is not for it: it need not be read again when the client comes back. */
  keepAlive(): Buffer {
    return this.topic.followers.has(this) && this.#seq > 0 ? Buffer.from(positionMessage(this.#seq)) : comment
  }

  /** The client comes back, if it still may. */
  end(): void {
    this.pause()
    this.#channel?.cut()
  }

  /** Page by page up to where the topic is, at the client's pace; the moment it is level it follows. */
  async #catchUp(course: number): Promise<void> {
    const { bus } = this.#needs
    const channel = this.#channel
    while (course === this.#course && channel && !channel.closed) {
      if (this.#seq >= this.topic.position) return void this.topic.followers.add(this)
      const page = await bus.readBehind(this.topic.stream, this.#seq)
      if (course !== this.#course) return
      if (page.hasGap || page.told.length === 0) this.miss(this.topic.position)
      for (const one of page.hasGap ? [] : page.told) {
        this.tell(one, page.isMember)
        await channel.drained()
        if (course !== this.#course) return
      }
    }
  }
}

/** When the token of a call ends, from the claim of a token whose signature was verified before; at once when it names no end. */
function tokenExpiryMs(authorization: string | undefined): number {
  try {
    const claims = JSON.parse(Buffer.from(authorization?.split('.')[1] ?? '', 'base64url').toString()) as { exp?: unknown }
    return typeof claims.exp === 'number' ? claims.exp * 1000 : 0
  } catch {
    return 0
  }
}

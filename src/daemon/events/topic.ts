import type { Page, Told } from './read-page.ts'

/** Somebody who is told what comes. */
export type Follower = Readonly<{
  /** Each event once, in order; also those that are not for it. */
  tell(told: Told, isMember: Page['isMember']): void
  /** Some were forgotten before anybody read them; it goes on after `seq`. */
  miss(seq: number): void
}>

/** One tenant's stream in this process, as long as anybody listens to it. All up to `position` was told to those who follow. */
export class Topic {
  readonly stream: string
  readonly followers = new Set<Follower>()
  position: number
  /** Streams that are open or about to be. */
  users = 0
  /** Where it is in the queue: nothing may be told twice at once. */
  turn: 'idle' | 'queued' | 'running' | 'again' = 'idle'

  constructor(stream: string, position: number) {
    this.stream = stream
    this.position = position
  }

  /** Tells one event to all who follow; without a pause in between, so that whoever joins knows exactly from where on. */
  tell(told: Told, isMember: Page['isMember']): void {
    this.position = told.seq
    for (const follower of this.followers) follower.tell(told, isMember)
  }

  miss(seq: number): void {
    this.position = seq
    for (const follower of this.followers) follower.miss(seq)
  }
}

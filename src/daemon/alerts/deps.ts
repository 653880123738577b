import type { AlertMessage } from '../../core/alerts/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import type { Channel } from './channels.ts'

/** Sends one message to one place, under an id that a second sending of it bears too. Says where it went; throws UNAVAILABLE without a secret. */
export type Send = (channel: Channel, message: AlertMessage, id: string, signal?: AbortSignal) => Promise<string>

/** All that alerts need; each verb names what it takes of it. */
export type AlertsDeps = Readonly<{
  db: Db
  clock: Clock
  /** Everywhere that the settings say. */
  channels: readonly Channel[]
  /** While an alert is open and happens again, it is told again after this. */
  repeatAfterMs: number
  send: Send
}>

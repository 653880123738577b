import { sha256Hex } from '../kit/index.ts'

/** What work waits for: nothing but the database, somebody's mail server or webhook, or a tenant's chat server. */
export type Lane = 'own' | 'mail' | 'chat'

/** Beside them stand the queues whose server was away when it was last asked: they wait for each other and for nobody else. */
export type Track = Lane | 'away'

/**
 * How many queues one replica works on at once, by what they wait for: a share of its own each, so that mail never waits behind chat. Most
 * work only waits for an answer, so many at once cost little; those that are away take seconds each to find that out.
 */
export const shares: Readonly<Record<Track, number>> = { own: 4, mail: 8, chat: 48, away: 16 }

const longestRestMs = 60 * 60_000
const longestAwayMs = 5 * 60_000

/** When work that failed is tried again. */
export const restMs = (attempts: number): number => Math.min(1000 * 2 ** attempts, longestRestMs)

/**
 * When a server that is away is asked again. Up to a fifth later by its queue's name: those that went away together do not all come back in
 * the same second. Never later than some minutes: somebody may wait to be locked out.
 */
export const awayMs = (failures: number, queue: string): number => {
  const ms = Math.min(1000 * 2 ** failures, longestAwayMs)
  return ms + Math.floor((ms / 5) * spread(queue))
}

/** From 0 to below 1, the same for the same name. */
const spread = (name: string): number => Number.parseInt(sha256Hex(name).slice(0, 4), 16) / 65_536

type ChatWork = Readonly<{ tenantId: string; what: 'locks' | 'names' | 'users' | 'spaces'; key: string }>

/** One tenant's chat server is asked one thing of a kind at a time; a lock never waits for a space that is large. */
export const inChatQueue = ({ tenantId, what, key }: ChatWork) => ({ lane: 'chat', queue: `chat:${tenantId}:${what}`, key }) as const

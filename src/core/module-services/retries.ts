import type { ViolationKind } from '../modules/index.ts'

const hourMs = 3_600_000

/** An event is retried for this long, then it is a dead letter and the next one is sent. */
export const maxDeliveryMs = 24 * hourMs
/** `delete_data` is retried for this long, then an alert is raised. */
export const maxDeleteMs = 30 * 24 * hourMs

/** Why a message was not delivered. `status` is null without an answer. `violation`: the limit that the answer broke. */
export type Failure = Readonly<{ status: number | null; reason: string; violation?: ViolationKind }>

/** The service as a whole does not answer, so all its installations wait. Any other failure is about one message. */
export const isUnreachable = ({ status }: Failure): boolean => status === null || [429, 502, 503, 504].includes(status)

const maxRetryMs = hourMs
const maxRestMs = 5 * 60_000

/** When a message that failed `attempts` times is sent again: 5 s, doubled, at most an hour. */
export const retryAt = (attempts: number, nowMs: number): number => nowMs + Math.min(5000 * 2 ** Math.min(attempts - 1, 20), maxRetryMs)

/** How long no message goes to a service that did not answer `failures` times in a row: 2 s, doubled, at most 5 minutes. */
export const restMs = (failures: number): number => Math.min(1000 * 2 ** Math.min(failures, 20), maxRestMs)

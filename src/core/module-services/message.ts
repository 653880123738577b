import { z } from 'zod'
import { printable, sha256Hex } from '../kit/index.ts'
import { EventName, Json } from '../modules/index.ts'

/** A message to a service, as Standard Webhooks has them: `type`, `timestamp`, `data`. */
export type Message = Readonly<{
  /** `module.activate`, `module.deactivate`, `module.delete_data`, or the type of an event. */
  type: string
  /** ISO 8601: when it happened. */
  at: string
  tenantId: string
  moduleId: string
  version: string
  /** Content of the event or life-cycle step. */
  payload: unknown
  /** Position of an event in the stream of its tenant. */
  seq?: number
  /** Approved permissions; in `module.activate`. */
  permissions?: readonly string[]
}>

/** The JSON that is signed and sent. `deliveryId` is the same in each repetition. */
export const messageBody = (deliveryId: string, { type, at, ...data }: Message): string =>
  JSON.stringify({ type, timestamp: at, data: { deliveryId, ...data } })

/** The same id for each repetition of the same message, also after a restart: the service drops what it knows. */
export const messageId = (...parts: readonly (string | number)[]): string => `msg_${sha256Hex(parts.join('\n')).slice(0, 32)}`

const maxPublications = 100

const Publication = z.strictObject({
  name: EventName,
  payload: Json.default({}),
  spaceId: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,100}$/, 'must be an id')
    .optional(),
})
/** An event that a service publishes in its answer. */
export type Publication = z.infer<typeof Publication>

const Answer = z.object({ publish: z.array(Publication).max(maxPublications).default([]) })

type Read = Readonly<{ publish: readonly Publication[]; fault?: string }>

/** Reads the events that the body of a 2xx answer publishes. An empty body, or one that is not a JSON object, publishes nothing; a wrong `publish` is a fault. */
export function readAnswer(body: string): Read {
  const value = parsed(body)
  if (typeof value !== 'object' || value === null || !('publish' in value)) return { publish: [] }
  const answer = Answer.safeParse(value)
  if (answer.success) return answer.data
  const [issue] = answer.error.issues
  return { publish: [], fault: printable(`${issue?.path.join('.')}: ${issue?.message}`) }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

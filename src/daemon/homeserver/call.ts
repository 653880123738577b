import { type ChatAnswer, errcodeOf, type Fault, faultOf } from '../../core/homeserver/index.ts'
import { type Clock, type Random, Secret, type TenantId } from '../../core/kit/index.ts'
import { boxSecret } from '../boxes/index.ts'
import { keptAdminToken, renewAdminToken } from './admin-token.ts'
import { type Ask, NoAnswer, type Question, TooMany } from './ask.ts'
import { type Door, type DoorDeps, findDoor } from './door.ts'

export type CallDeps = DoorDeps & Readonly<{ clock: Clock; random: Random; ask: Ask }>

/** Whose token goes with it. */
type As = 'nobody' | 'admin' | 'service' | Secret

type Call = Omit<Question, 'headers'> & Readonly<{ as: As }>

const fenced: Fault = { kind: 'fenced', retryAfterSeconds: 10, reason: 'it is being updated' }

/** Everything the platform does with one chat server goes through here: the fence first, then its door. */
export type Caller = Readonly<{ door: Door; call(call: Call): Promise<ChatAnswer | Fault> }>

/**
 * The gate: whoever gets a caller may write. A box that is known to be fenced is not even asked; one that was fenced a moment ago says so itself,
 * because its edge holds the fence.
 */
export async function enter(deps: CallDeps, tenantId: TenantId, intent: 'read' | 'write'): Promise<Caller | Fault> {
  const door = await findDoor(deps, tenantId)
  if ('kind' in door) return door
  if (door.fenced && intent === 'write') return fenced
  return { door, call: (call) => callThere(deps, door, call) }
}

async function callThere(deps: CallDeps, door: Door, { as, ...question }: Call): Promise<ChatAnswer | Fault> {
  try {
    const token = await tokenOf(deps, door, as)
    if (token && 'kind' in token) return token
    const answer = await askThere(deps, door, question, token)
    if (as !== 'admin' || errcodeOf(answer) !== 'M_UNKNOWN_TOKEN') return faultOf(answer) ?? answer
    return await againWithNewToken(deps, door, question)
  } catch (error) {
    if (error instanceof TooMany) return { kind: 'limited', retryAfterSeconds: 5, reason: error.message }
    if (error instanceof NoAnswer) return { kind: 'unreachable', retryAfterSeconds: 10, reason: error.message }
    throw error
  }
}

/** A restore may have taken the administrator's token away. */
async function againWithNewToken(deps: CallDeps, door: Door, question: Omit<Question, 'headers'>): Promise<ChatAnswer | Fault> {
  const token = await renewAdminToken(deps, (one) => askThere(deps, door, one), door)
  if (!(token instanceof Secret)) return token
  const answer = await askThere(deps, door, question, token)
  return faultOf(answer) ?? answer
}

function askThere({ ask }: CallDeps, door: Door, question: Omit<Question, 'headers'>, token?: Secret): Promise<ChatAnswer> {
  const identity: Record<string, string> = token ? { authorization: `Bearer ${token.reveal()}` } : {}
  return ask(door.origin, { ...question, headers: { 'x-tenantry-edge-secret': door.edgeSecret.reveal(), ...identity } })
}

async function tokenOf(deps: CallDeps, door: Door, as: As): Promise<Secret | Fault | undefined> {
  if (as === 'nobody') return undefined
  if (as === 'service')
    return (
      (await boxSecret(deps, deps.db, door.boxId, 'appserviceToken')) ?? {
        kind: 'unreachable',
        retryAfterSeconds: 60,
        reason: 'its host has not delivered the token of the application service',
      }
    )
  if (as !== 'admin') return as
  return (await keptAdminToken(deps, door)) ?? renewAdminToken(deps, (one) => askThere(deps, door, one), door)
}

export const isAnswer = (result: ChatAnswer | Fault): result is ChatAnswer => 'status' in result
export const isCaller = (result: Caller | Fault): result is Caller => 'door' in result

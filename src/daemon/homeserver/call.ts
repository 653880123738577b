import { type BoxId, portsFrom } from '../../core/boxes/index.ts'
import { type ChatAnswer, errcodeOf, type Fault, faultOf, platformUrl } from '../../core/homeserver/index.ts'
import { type Clock, type Problem, problem, type Random, Secret, type TenantId } from '../../core/kit/index.ts'
import { boxSecret } from '../boxes/index.ts'
import type { Db } from '../db/index.ts'
import type { Keyring } from '../sealed/index.ts'
import { loginAdmin } from './admin-token.ts'
import { loginBot } from './bot-token.ts'
import { type Ask, type ChatRequest, NoAnswer, QueueFull } from './chat-client.ts'
import type { ChatTarget } from './chat-target.ts'
import { type PlainNetworks, whyForbidden } from './plain-networks.ts'
import { type Renewals, renewOnce } from './renew-token.ts'
import { storedToken, type TokenOf } from './stored-tokens.ts'

type TargetDeps = Readonly<{ db: Db; keyring: Keyring; networks: PlainNetworks }>

const unreachable = (reason: string): Fault => ({ kind: 'unreachable', retryAfterSeconds: 60, reason })

/** The target of the live box, or the fault that explains why there is none. */
async function findTarget({ db, keyring, networks }: TargetDeps, tenantId: TenantId): Promise<ChatTarget | Fault> {
  const box = await db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .leftJoin('hosts', 'hosts.id', 'boxes.host_id')
    .leftJoin('platform_addresses', 'platform_addresses.host_id', 'boxes.host_id')
    .select(['boxes.id', 'boxes.slug', 'internal_url', 'first_port', 'fenced', 'chat_domain', 'address', 'hosts.engine'])
    .where('boxes.tenant_id', '=', tenantId)
    .where('boxes.live', '=', 1)
    .executeTakeFirst()
  if (!box) return unreachable('the tenant has no live box')
  const { slug, internal_url: internalUrl, first_port: first, address } = box
  const url = platformUrl({ slug, internalUrl, address, ports: first === null ? null : portsFrom(first) })
  if (url === null) return unreachable('its box has no platform listener; `tenantry boxes adopt` adds it')
  const wrong = whyForbidden(networks, url)
  if (wrong) return unreachable(wrong)
  const edgeSecret = await boxSecret({ keyring, db }, box.id as BoxId, 'edgeSecret')
  if (!edgeSecret) return unreachable('its host has not delivered the secret of its edge')
  const origin = url.replace(/\/+$/, '')
  return {
    boxId: box.id as BoxId,
    chatDomain: box.chat_domain,
    origin,
    edgeSecret,
    fenced: box.fenced === 1,
    simulated: box.engine?.includes('"engine":"simulated"') ?? false,
  }
}

/** 503 with `Retry-After` (spec 7): the chat server is down, fenced or limited. `whose`: the tenant's slug, or `its tenant`. */
export const homeserverProblem = ({ retryAfterSeconds, reason, fix = 'try again later' }: Fault, whose: string): Problem =>
  problem('HOMESERVER_UNREACHABLE', `The chat server of ${whose} is unavailable: ${reason}. fix: ${fix}`, {
    retryAfterSeconds,
  })

export type CallDeps = TargetDeps & Readonly<{ clock: Clock; random: Random; ask: Ask; renewals: Renewals }>

/** The token to send. */
type As = 'anonymous' | 'service' | TokenOf | Secret

type Call = Omit<ChatRequest, 'headers'> & Readonly<{ as: As }>

const fenced: Fault = { kind: 'fenced', retryAfterSeconds: 10, reason: 'update in progress' }

const simulated: Fault = {
  ...{ kind: 'unreachable', retryAfterSeconds: 60, reason: 'its box is simulated and has no chat server' },
  fix: 'npm run demo -- --docker has real boxes',
}

/** An open connection to one chat server. Every request of the platform goes through it. */
export type Connection = Readonly<{ target: ChatTarget; call(call: Call): Promise<ChatAnswer | Fault> }>

/** Checks the fence, then opens the connection. A box known to be fenced gets no write; the edge refuses writes to a box fenced just now. */
export async function connect(deps: CallDeps, tenantId: TenantId, intent: 'read' | 'write'): Promise<Connection | Fault> {
  const target = await findTarget(deps, tenantId)
  if ('kind' in target) return target
  if (target.fenced && intent === 'write') return fenced
  return { target, call: (call) => callWithToken(deps, target, call) }
}

async function callWithToken(deps: CallDeps, target: ChatTarget, { as, ...request }: Call): Promise<ChatAnswer | Fault> {
  try {
    const token = await tokenOf(deps, target, as)
    if (token && 'kind' in token) return token
    const answer = await sendWithToken(deps, target, { request, token })
    if ((as !== 'admin' && as !== 'bot') || errcodeOf(answer) !== 'M_UNKNOWN_TOKEN') return faultOf(answer) ?? answer
    return await retryWithNewToken(deps, target, { request, of: as, refused: token })
  } catch (error) {
    if (error instanceof QueueFull) return { kind: 'limited', retryAfterSeconds: 5, reason: error.message }
    if (error instanceof NoAnswer)
      return target.simulated ? simulated : { kind: 'unreachable', retryAfterSeconds: 10, reason: error.message }
    throw error
  }
}

type Retried = Readonly<{ request: Omit<ChatRequest, 'headers'> }> & Renewed

/** A restore or a move may have invalidated a stored token. */
async function retryWithNewToken(deps: CallDeps, target: ChatTarget, { request, ...renewed }: Retried): Promise<ChatAnswer | Fault> {
  const token = await renewToken(deps, target, renewed)
  if (!(token instanceof Secret)) return token
  const answer = await sendWithToken(deps, target, { request, token })
  return faultOf(answer) ?? answer
}

function sendWithToken(
  { ask }: CallDeps,
  target: ChatTarget,
  { request, token }: Readonly<{ request: Omit<ChatRequest, 'headers'>; token?: Secret }>,
): Promise<ChatAnswer> {
  const identity: Record<string, string> = token ? { authorization: `Bearer ${token.reveal()}` } : {}
  return ask(target.origin, { ...request, headers: { 'x-tenantry-edge-secret': target.edgeSecret.reveal(), ...identity } })
}

async function tokenOf(deps: CallDeps, target: ChatTarget, as: As): Promise<Secret | Fault | undefined> {
  if (as === 'anonymous') return undefined
  if (as === 'service')
    return (
      (await boxSecret(deps, target.boxId, 'appserviceToken')) ?? {
        kind: 'unreachable',
        retryAfterSeconds: 60,
        reason: 'its host has not delivered the token of the application service',
      }
    )
  if (as instanceof Secret) return as
  return (await storedToken(deps, as, target.boxId)) ?? renewToken(deps, target, { of: as, refused: undefined })
}

type Renewed = Readonly<{ of: TokenOf; refused: Secret | undefined }>

function renewToken(deps: CallDeps, target: ChatTarget, { of, refused }: Renewed): Promise<Secret | Fault> {
  const ask = (request: Omit<ChatRequest, 'headers'>, token?: Secret) =>
    sendWithToken(deps, target, { request, ...(token ? { token } : {}) })
  const login = () => (of === 'admin' ? loginAdmin(deps, (request) => ask(request), target) : loginBot(deps, ask, target))
  return renewOnce(deps, { of, boxId: target.boxId, refused, login })
}

export const isAnswer = (result: ChatAnswer | Fault): result is ChatAnswer => 'status' in result
export const isConnection = (result: Connection | Fault): result is Connection => 'target' in result

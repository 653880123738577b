import type { IncomingHttpHeaders } from 'node:http'
import type { Request, RequestHandler, Response } from 'express'
import { type AdminAccess, type Auth, type EndpointShape, roleAtLeast } from '../../core/contract/index.ts'
import {
  type Actor,
  type AdminActor,
  type AgentActor,
  type AutomationActor,
  type Clock,
  type DeveloperActor,
  isProblem,
  type PlatformPrincipal,
  problem,
  type TokenActor,
  type VendorActor,
} from '../../core/kit/index.ts'
import { addressLimit } from './address-limit.ts'

/** Turns the credentials of a request into an actor, or throws UNAUTHENTICATED. */
export type Authenticators = Readonly<{
  /** Throws for a session that has not completed what `access` asks for. */
  admin(authorization: string | undefined, access?: AdminAccess): Promise<AdminActor | TokenActor>
  /** An admin by the cookie of the web console; undefined for a call without one. Throws for a host name that is not the daemon's. */
  console?(headers: IncomingHttpHeaders, access: AdminAccess): Promise<AdminActor | undefined>
  agent(authorization: string | undefined): Promise<AgentActor>
  /** The key of an automation tool. The second step follows once the tenant of the call is known. */
  automation?(key: string | undefined, address: string | undefined): Promise<TenantOfCall>
  /** A vendor of the marketplace by the token of its session. */
  vendor?(authorization: string | undefined): Promise<VendorActor>
  /** The token of a vendor's session in the cookie of its page; undefined for a call without one. */
  vendorPage?(headers: IncomingHttpHeaders): string | undefined
  /** The developer account of a user, by the header `X-Developer-Id`. Throws FORBIDDEN. */
  developer?(user: PlatformPrincipal, developerId: string | undefined): Promise<DeveloperActor>
  /** The platform token of a user in the cookie of the page of a school; undefined for a call without one. */
  school?(headers: IncomingHttpHeaders): string | undefined
  /** Throws INVALID_MATRIX_TOKEN for a chat token, SETUP_REQUIRED for an initial password unless `setup`. */
  platform?(authorization: string | undefined, access?: Readonly<{ setup?: boolean }>): Promise<PlatformPrincipal>
}>

/** The tenant that a call of `path` names. Throws FORBIDDEN unless the caller may act for it. */
export type TenantOfCall = (named: Readonly<Record<string, unknown>>, path: string) => Promise<AutomationActor>

type AuthenticateDeps = Readonly<{ authenticate: Authenticators; clock: Clock }>

export function authenticateCall({ auth, perAddress }: EndpointShape, { authenticate, clock }: AuthenticateDeps): RequestHandler {
  const limit = perAddress === undefined ? undefined : addressLimit(clock, perAddress)
  return async (request, response, next) => {
    // A caller that is not identified gets no other answer, and uses up no budget.
    const actor = await identify(auth, request, authenticate)
    limit?.(request.ip ?? 'unknown')
    if (actor) response.locals.actor = actor
    response.locals.identifiedAtMs = clock.monotonicMs()
    next()
  }
}

/** Runs after the rate limit: a call without the capability counts, and its response has the limit headers (spec 8). */
export function checkCapability({ auth }: EndpointShape): RequestHandler[] {
  if (auth.kind !== 'platform' || !auth.capability) return []
  return [
    (_, response, next) => {
      assertCapability(auth, response)
      next()
    },
  ]
}

/** Last, because a repeated authentication replaces the actor by the user. */
export function findDeveloper({ auth }: EndpointShape, { authenticate }: AuthenticateDeps): RequestHandler[] {
  if (auth.kind !== 'platform' || !auth.developer) return []
  return [
    async (request, response, next) => {
      if (!authenticate.developer) throw problem('FORBIDDEN', 'This daemon has no developers of modules.')
      response.locals.actor = await authenticate.developer(response.locals.actor, request.get('x-developer-id'))
      next()
    },
  ]
}

export function assertCapability(auth: Auth, response: Response): void {
  if (auth.kind !== 'platform' || !auth.capability) return
  const actor = response.locals.actor as PlatformPrincipal | AdminActor
  if (actor.kind === 'user' && !actor.capabilities.includes(auth.capability))
    throw problem('FORBIDDEN', `This requires the capability ${auth.capability}; none of your roles grants it.`)
}

export async function identify(auth: Auth, request: Request, authenticate: Authenticators): Promise<Actor | undefined> {
  if (auth.kind === 'none' || auth.kind === 'automation') return undefined
  if (auth.kind === 'agent') return authenticate.agent(request.get('authorization'))
  if (auth.kind === 'platform') return userOrAdmin(auth, request, authenticate)
  if (auth.kind === 'vendor') return vendorOf(request, authenticate)
  const byCookie = await authenticate.console?.(request.headers, auth)
  return byCookie ? permitted(auth, byCookie) : adminOf(auth, request, authenticate)
}

/** A token that is not one of a user may be one of an admin where the endpoint permits that. */
async function userOrAdmin({ orAdmin, setup }: Extract<Auth, { kind: 'platform' }>, request: Request, authenticate: Authenticators) {
  try {
    return await userOf(request, authenticate, { setup: setup === true })
  } catch (error) {
    if (!orAdmin || !isProblem(error, 'UNAUTHENTICATED')) throw error
    const auth = { kind: 'admin', role: orAdmin, person: true } as const
    // Without a cookie the host does not matter: apps of tenants call these endpoints under other names.
    const byCookie = request.headers.cookie === undefined ? undefined : await authenticate.console?.(request.headers, {})
    return byCookie ? permitted(auth, byCookie) : adminOf(auth, request, authenticate)
  }
}

async function vendorOf(request: Request, { vendor, vendorPage }: Authenticators): Promise<VendorActor> {
  if (!vendor) throw problem('UNAUTHENTICATED', 'This daemon has no accounts of vendors.')
  const token = vendorPage?.(request.headers)
  return vendor(token === undefined ? request.get('authorization') : `Bearer ${token}`)
}

async function adminOf(auth: Extract<Auth, { kind: 'admin' }>, request: Request, authenticate: Authenticators) {
  return permitted(auth, await authenticate.admin(request.get('authorization'), auth))
}

function permitted(auth: Extract<Auth, { kind: 'admin' }>, actor: AdminActor | TokenActor) {
  if (auth.person && actor.kind === 'token') throw problem('FORBIDDEN', 'API tokens cannot do this. Log in as a person.')
  if (!roleAtLeast(actor.role, auth.role))
    throw problem('FORBIDDEN', `This requires the role ${auth.role}; ${actor.name} has the role ${actor.role}.`)
  return actor
}

export async function userOf(
  request: Request,
  { platform, school }: Authenticators,
  access?: Readonly<{ setup?: boolean }>,
): Promise<PlatformPrincipal> {
  if (!platform) throw problem('UNAUTHENTICATED', 'This daemon has no login for users of tenants.')
  const token = school?.(request.headers)
  return platform(token === undefined ? request.get('authorization') : `Bearer ${token}`, access)
}

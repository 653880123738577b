import { SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import { type KeyDeps, rotateSigningKeys } from './rotate-signing-keys.ts'
import { keyCache } from './signing-keys.ts'

/** The user on whose behalf a request reaches the service of a module. */
type ModuleCaller = Readonly<{ moduleId: string; tenantId: string; userId: string; sessionId: string; roles: readonly string[] }>

/** A JWT for the service of one module: `aud` is `module:<id>`, so no other service and no endpoint of this daemon accepts it. */
export type SignModuleToken = (caller: ModuleCaller) => Promise<string>

const lifetimeMs = 5 * 60_000
/** A signature costs as much as the rest of a proxied request, so a token is used for a minute; the service has four more to check it. */
const reuseMs = 60_000
const maxTokens = 10_000

/** Tokens of the audience `module` have keys of their own, published with the others. `issuer`: the public address of this daemon. */
export function openModuleTokens(deps: KeyDeps, issuer: string): SignModuleToken {
  const keys = keyCache(deps, 'module')
  const tokens = new LRUCache<string, Readonly<{ token: string; untilMs: number }>>({ max: maxTokens })
  let isReady = false
  const sign = async ({ moduleId, tenantId, userId, roles }: ModuleCaller, nowMs: number): Promise<string> => {
    // The first key is made for the first token: most daemons have no services.
    if (!isReady) await rotateSigningKeys(deps, 'module')
    isReady = true
    const { kid, key } = await keys.signer()
    const issued = Math.floor(nowMs / 1000)
    return new SignJWT({ sub: userId, tid: tenantId, roles: [...roles] })
      .setProtectedHeader({ alg: 'ES256', kid, typ: 'JWT' })
      .setIssuer(issuer)
      .setAudience(`module:${moduleId}`)
      .setIssuedAt(issued)
      .setExpirationTime(issued + lifetimeMs / 1000)
      .sign(key)
  }
  return async (caller) => {
    const nowMs = deps.clock.now().getTime()
    // The roles are part of the key: a user who loses one gets another token at once.
    const key = JSON.stringify([caller.moduleId, caller.tenantId, caller.userId, caller.sessionId, caller.roles])
    const found = tokens.get(key)
    if (found && nowMs < found.untilMs && nowMs >= found.untilMs - reuseMs) return found.token
    const token = await sign(caller, nowMs)
    tokens.set(key, { token, untilMs: nowMs + reuseMs })
    return token
  }
}

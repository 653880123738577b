import { LRUCache } from 'lru-cache'
import type * as Oidc from 'openid-client'
import { type ProviderClaims, provenAtMs, type RoleGroups, type SecondFactorValues } from '../../core/admin/index.ts'
import { type Problem, problem, type Secret } from '../../core/kit/index.ts'

/** The values that tie the answer of the provider to the browser that asked. */
type LoginAttempt = Readonly<{ state: string; nonce: string; verifier: string; maxAgeSeconds: number }>

/** A person who logged in at the provider. */
export type ProviderLogin = Readonly<{ issuer: string; subject: string; claims: ProviderClaims; provenAtMs: number | undefined }>

/** A provider of OpenID Connect. */
export type LoginProvider = Readonly<{
  /** As people call it. */
  name: string
  /** The address where the person logs in. `prove`: with password or key, although logged in there already. Throws LOGIN_PROVIDER_UNAVAILABLE. */
  addressOf(attempt: LoginAttempt, prove: boolean): Promise<string>
  /** Checks the answer, which is the query of the address that the provider led to, once for an attempt. Throws LOGIN_FAILED, LOGIN_PROVIDER_UNAVAILABLE. */
  personOf(query: string, attempt: LoginAttempt): Promise<ProviderLogin>
}>

/** The provider, and what its claims mean here. */
export type CompanyLogin = Readonly<{
  provider: LoginProvider
  nameClaim: string
  groupsClaim: string
  roles: RoleGroups
  secondFactor: SecondFactorValues
}>

type ProviderSettings = Readonly<{
  issuer: string
  clientId: string
  clientSecret: Secret | undefined
  name: string
  scopes: readonly string[]
  groupsClaim: string
  nameClaim: string
  /** Where the provider leads browsers back to. */
  redirectUri: string
}>

const timeoutSeconds = 10
/** Endpoints of a provider change seldom. Its keys are read again whenever an unknown one signs. */
const discoverAgainMs = 60 * 60_000
const maxTaken = 10_000

/** The code flow with PKCE, state and nonce. Signatures are checked although the token comes over TLS. Loads its library on first use. */
export function openLoginProvider(settings: ProviderSettings, monotonicMs: () => number): LoginProvider {
  const { issuer, clientId, clientSecret, redirectUri } = settings
  let found: Readonly<{ config: Oidc.Configuration; atMs: number }> | undefined
  // In the memory of one replica, for the latest attempts: the provider takes a code once, so a second answer costs a call and opens nothing.
  const taken = new LRUCache<string, true>({ max: maxTaken })

  /** The library refuses an answer of another state before it calls the provider. */
  function takeOnce(answer: URLSearchParams, state: string): void {
    if (answer.get('state') !== state) return
    if (taken.has(state)) throw problem('LOGIN_FAILED', 'This login was answered already. fix: begin it again')
    taken.set(state, true)
  }

  async function discovered(oidc: typeof Oidc): Promise<Oidc.Configuration> {
    if (found && monotonicMs() - found.atMs < discoverAgainMs) return found.config
    const authentication = clientSecret ? oidc.ClientSecretPost(clientSecret.reveal()) : oidc.None()
    const insecure = new URL(issuer).protocol === 'http:' ? [oidc.allowInsecureRequests] : []
    const execute = [oidc.enableNonRepudiationChecks, ...insecure]
    const config = await oidc.discovery(new URL(issuer), clientId, undefined, authentication, { execute, timeout: timeoutSeconds })
    found = { config, atMs: monotonicMs() }
    return config
  }

  async function asked<Result>(work: (oidc: typeof Oidc, config: Oidc.Configuration) => Promise<Result>): Promise<Result> {
    const oidc = await import('openid-client')
    try {
      return await work(oidc, await discovered(oidc))
    } catch (error) {
      throw failureOf(oidc, error, settings)
    }
  }

  return {
    name: settings.name,
    addressOf: ({ state, nonce, verifier, maxAgeSeconds }, prove) =>
      asked(async (oidc, config) => {
        const parameters = {
          redirect_uri: redirectUri,
          scope: settings.scopes.join(' '),
          state,
          nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          max_age: String(maxAgeSeconds),
          ...(prove ? { prompt: 'login' } : {}),
        }
        return oidc.buildAuthorizationUrl(config, parameters).href
      }),
    async personOf(query, { state, nonce, verifier, maxAgeSeconds }) {
      const address = new URL(`${redirectUri}?${query.replace(/^\?/, '')}`)
      takeOnce(address.searchParams, state)
      return asked(async (oidc, config) => {
        const tokens = await oidc.authorizationCodeGrant(config, address, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          maxAge: maxAgeSeconds,
          idTokenExpected: true,
        })
        const claims = tokens.claims() as Oidc.IDToken
        const lacks = [settings.groupsClaim, settings.nameClaim].some((claim) => claims[claim] === undefined)
        const more =
          lacks && config.serverMetadata().userinfo_endpoint ? await oidc.fetchUserInfo(config, tokens.access_token, claims.sub) : {}
        return { issuer: claims.iss, subject: claims.sub, claims: { ...more, ...claims }, provenAtMs: provenAtMs(claims) }
      })
    },
  }
}

/** A refusal of the provider and an answer that does not hold are failed logins; anything else means that the provider cannot be asked. */
function failureOf(oidc: typeof Oidc, error: unknown, { name, issuer }: ProviderSettings): Problem {
  if (error instanceof oidc.AuthorizationResponseError)
    return problem(
      'LOGIN_FAILED',
      `The ${name} refused the login: ${error.error}${error.error_description ? ` (${error.error_description})` : ''}`,
    )
  if (error instanceof oidc.ResponseBodyError && error.status < 500)
    return problem('LOGIN_FAILED', `The ${name} refused the login: ${error.error}`, { cause: error })
  if (error instanceof oidc.ClientError && !isUnreachable(error))
    return problem('LOGIN_FAILED', `The answer of the ${name} does not hold: ${error.message}`, { cause: error })
  return problem(
    'LOGIN_PROVIDER_UNAVAILABLE',
    `${issuer} does not answer as a provider of OpenID Connect: ${error instanceof Error ? error.message : String(error)}`,
    {
      cause: error,
    },
  )
}

/** The library wraps what the network and the documents of the provider did into errors of its own. */
const isUnreachable = ({ code, cause }: { code?: string; cause?: unknown }): boolean =>
  code === 'OAUTH_TIMEOUT' || code === 'OAUTH_PARSE_ERROR' || code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' || cause instanceof TypeError

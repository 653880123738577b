import { createLocalJWKSet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { isoNow, manualClock } from '../../../src/core/kit/index.ts'
import { authRoutes, openModuleTokens, openSigningKeys } from '../../../src/daemon/auth/index.ts'
import { liveKeys } from '../../../src/daemon/auth/signing-keys.repo.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { aKeyring } from '../../support/admin-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { servedApp } from '../../support/served-app.ts'

const caller = { moduleId: 'attendance', tenantId: 'ten_1', userId: 'usr_1', sessionId: 'ses_1', roles: ['teacher'] }

onBothDialects('tokens for services of modules', (fresh) => {
  const setUp = async () => {
    const db = await fresh()
    const clock = manualClock()
    const deps = { db, clock, random: systemRandom, keyring: aKeyring() }
    return { ...deps, deps, sign: openModuleTokens(deps, 'https://school.example') }
  }

  test('a service verifies a token with the published keys alone', async () => {
    const { db, clock, sign } = await setUp()
    const token = await sign(caller)
    const { url } = await servedApp(authRoutes({ db, clock }), { clock, authenticate: {} })
    const jwks = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as Parameters<typeof createLocalJWKSet>[0]
    const options = { audience: 'module:attendance', issuer: 'https://school.example', currentDate: clock.now() }
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(jwks), options)
    expect(payload).toMatchObject({ sub: 'usr_1', tid: 'ten_1', roles: ['teacher'] })
    expect(Number(payload.exp) - Number(payload.iat)).toBe(300)
    expect(protectedHeader.alg).toBe('ES256')
    await expect(jwtVerify(token, createLocalJWKSet(jwks), { ...options, audience: 'module:other' })).rejects.toThrow(/aud/)
  })

  test('it is no token of a session: neither platform nor admin endpoints accept it', async () => {
    const { deps, sign } = await setUp()
    const token = await sign(caller)
    for (const audience of ['platform', 'admin'] as const)
      await expect((await openSigningKeys(deps, audience)).verify(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('a token is used for a minute, and not for other roles, users or modules', async () => {
    const { db, clock, sign } = await setUp()
    const token = await sign(caller)
    expect(await sign(caller)).toBe(token)
    for (const other of [{ roles: [] }, { userId: 'usr_2' }, { tenantId: 'ten_2' }, { moduleId: 'other' }, { sessionId: 'ses_2' }])
      expect(await sign({ ...caller, ...other })).not.toBe(token)
    await clock.advance(61_000)
    expect(await sign(caller)).not.toBe(token)
    expect((await liveKeys(db, isoNow(clock), 'module')).length).toBe(1)
  })
})

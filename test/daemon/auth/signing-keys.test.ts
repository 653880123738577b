import { generateKeyPair, importJWK, type JWTHeaderParameters, SignJWT, UnsecuredJWT } from 'jose'
import { expect, test } from 'vitest'
import { isoNow, manualClock } from '../../../src/core/kit/index.ts'
import { openSigningKeys, rotateSigningKeys } from '../../../src/daemon/auth/index.ts'
import { liveKeys, openPrivateKey } from '../../../src/daemon/auth/signing-keys.repo.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { aKeyring } from '../../support/admin-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const minute = 60_000
const day = 24 * 60 * minute
const who = { sub: 'acc_1', sid: 'ses_1' }
const needsOf = (db: Db, clock = manualClock()) => ({ db, clock, random: systemRandom, keyring: aKeyring() })
const kidsOf = async (db: Db, clock = manualClock()) => (await liveKeys(db, isoNow(clock))).map(({ kid }) => kid)
const kidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString()).kid as string

onBothDialects('signing keys', (fresh) => {
  test('replicas that start at once agree on one first key', async () => {
    const db = await fresh()
    const clock = manualClock()
    const replicas = await Promise.all(Array.from({ length: 4 }, () => openSigningKeys(needsOf(db, clock), 'admin')))
    expect(await kidsOf(db, clock)).toHaveLength(1)
    const { token } = await (replicas[0] as (typeof replicas)[0]).sign(who, day / 2)
    for (const replica of replicas) expect(await replica.verify(token)).toMatchObject(who)
  })

  test('a new key is published ten minutes before it signs, and the old one is believed for a day after', async () => {
    const db = await fresh()
    const clock = manualClock()
    const deps = needsOf(db, clock)
    const keys = await openSigningKeys(deps, 'admin')
    const old = await keys.sign(who, 23 * 60 * minute)
    expect(await rotateSigningKeys(deps, 'admin', { force: true })).toEqual({ rotated: true })
    expect(await rotateSigningKeys(deps, 'admin', { force: true })).toEqual({ rotated: false }) // one is waiting already
    const [first, second] = await kidsOf(db, clock)

    await clock.advance(9 * minute)
    const before = await keys.sign(who, 23 * 60 * minute)
    await clock.advance(2 * minute)
    const after = await keys.sign(who, 2 * day)
    expect([old, before, after].map(({ token }) => kidOf(token))).toEqual([first, first, second])

    const other = await openSigningKeys(deps, 'admin')
    await clock.advance(22 * 60 * minute)
    expect(await other.verify(old.token)).toMatchObject(who)
    await clock.advance(3 * 60 * minute)
    expect(await kidsOf(db, clock)).toEqual([second])
    expect(await other.verify(after.token)).toMatchObject(who)
  })

  test('a hundred tokens with made-up keys at once cost one read', async () => {
    const db = await fresh()
    const clock = manualClock()
    let reads = 0
    const counted = new Proxy(db, {
      get: (of, key) => {
        if (key === 'selectFrom') reads += 1
        const value = Reflect.get(of, key)
        return typeof value === 'function' ? value.bind(of) : value
      },
    })
    const keys = await openSigningKeys(needsOf(counted, clock), 'admin')
    const { token } = await keys.sign(who, day)
    await clock.advance(2000)
    reads = 0
    const forged = Array.from({ length: 100 }, (_, n) =>
      token.replace(/^[^.]+/, Buffer.from(`{"alg":"ES256","kid":"k${n}"}`).toString('base64url')),
    )
    const refused = await Promise.allSettled(forged.map((one) => keys.verify(one)))
    expect(refused.every(({ status }) => status === 'rejected')).toBe(true)
    expect(reads).toBe(1)
    expect(await keys.verify(token)).toMatchObject(who)
  })

  test('a replica believes a key that another made, as soon as it sees a token of it', async () => {
    const db = await fresh()
    const clock = manualClock()
    const [one, two] = [await openSigningKeys(needsOf(db, clock), 'admin'), await openSigningKeys(needsOf(db, clock), 'admin')]
    await two.verify((await one.sign(who, day)).token)
    await rotateSigningKeys(needsOf(db, clock), 'admin', { force: true })
    await clock.advance(11 * minute)
    expect(await two.verify((await one.sign(who, day)).token)).toMatchObject(who)
  })

  test('keys rotate by themselves every thirty days', async () => {
    const db = await fresh()
    const clock = manualClock()
    const deps = needsOf(db, clock)
    await rotateSigningKeys(deps, 'admin')
    await clock.advance(29 * day)
    expect(await rotateSigningKeys(deps, 'admin')).toEqual({ rotated: false })
    await clock.advance(day)
    const rotated = await Promise.all([1, 2, 3].map(() => rotateSigningKeys(deps, 'admin')))
    expect(rotated.filter((one) => one.rotated)).toHaveLength(1)
  })

  test('a token expires, also one that was checked before', async () => {
    const db = await fresh()
    const clock = manualClock()
    const keys = await openSigningKeys(needsOf(db, clock), 'admin')
    const { token } = await keys.sign(who, 60 * minute)
    await keys.verify(token)
    await clock.advance(60 * minute)
    await expect(keys.verify(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('forged tokens are refused: other algorithm, audience, key, none at all', async () => {
    const db = await fresh()
    const clock = manualClock()
    const deps = needsOf(db, clock)
    const [keys, platform] = [await openSigningKeys(deps, 'admin'), await openSigningKeys(deps, 'platform')]
    const { token } = await keys.sign(who, day)
    const [key] = await liveKeys(db, isoNow(clock), 'admin')
    if (!key) throw new Error('no key')
    const ours = await importJWK(JSON.parse(openPrivateKey(deps.keyring, key).reveal()), 'ES256')
    const { privateKey: stranger } = await generateKeyPair('ES256')
    const claims = { sub: who.sub, sid: who.sid, aud: 'admin', exp: Math.floor(clock.now().getTime() / 1000) + 3600 }
    const forged = (header: JWTHeaderParameters, with_: Parameters<SignJWT['sign']>[0], more = {}) =>
      new SignJWT({ ...claims, ...more }).setProtectedHeader(header).sign(with_)
    const hmacOfPublicKey = Buffer.from(JSON.stringify(key.publicKey))

    const attempts: Record<string, string> = {
      'another audience': (await platform.sign({ sub: who.sub, tid: 'ten_1', fam: who.sid }, day)).token,
      'another audience under our key': await forged({ alg: 'ES256', kid: key.kid }, ours, { aud: 'platform' }),
      'a stranger’s key under our kid': await forged({ alg: 'ES256', kid: key.kid }, stranger),
      'an unknown kid': await forged({ alg: 'ES256', kid: 'unknown' }, ours),
      'no kid': await forged({ alg: 'ES256' }, ours),
      'HS256 with the public key': await forged({ alg: 'HS256', kid: key.kid }, hmacOfPublicKey),
      'alg none': new UnsecuredJWT(claims).encode(),
      'no session': await forged({ alg: 'ES256', kid: key.kid }, ours, { sid: undefined }),
      'no expiry': await forged({ alg: 'ES256', kid: key.kid }, ours, { exp: undefined }),
      'a changed payload': token.replace(
        /\.[^.]+\./,
        `.${Buffer.from(JSON.stringify({ ...claims, sub: 'acc_2' })).toString('base64url')}.`,
      ),
      'no token': 'not-a-token',
    }
    for (const [what, attempt] of Object.entries(attempts))
      await expect(keys.verify(attempt), what).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await keys.verify(token)).toMatchObject(who)
  })

  test('private keys are sealed at rest and only public halves are published', async () => {
    const db = await fresh()
    await openSigningKeys(needsOf(db), 'admin')
    const row = await db.selectFrom('signing_keys').selectAll().executeTakeFirstOrThrow()
    expect(row.private_jwk).not.toContain('"d"')
    expect(JSON.parse(row.public_jwk)).not.toHaveProperty('d')
  })
})

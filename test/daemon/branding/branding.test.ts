import { expect, onTestFinished, test } from 'vitest'
import { brandingContract } from '../../../src/core/branding/index.ts'
import { makeClient } from '../../../src/core/contract/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { namedObjects, someObjects } from '../../../src/daemon/app/index.ts'
import { brandingFeature } from '../../../src/daemon/branding/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { openObjectStore } from '../../../src/daemon/objects/index.ts'
import { authenticateUser } from '../../../src/daemon/sessions/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aPng } from '../../support/images.ts'
import { aPeopleWorld } from '../../support/people-world.ts'
import { aFolder } from '../../support/running-daemon.ts'
import { servedApp } from '../../support/served-app.ts'

const day = 86_400_000
const image = (content: Uint8Array, fileName = 'logo.png') => ({
  upload: { content: new Blob([new Uint8Array(content)]), fileName, fields: {} },
})

async function aWorld(db: Db) {
  const world = await aPeopleWorld(db)
  const folder = await aFolder('logos')
  const stored = await openObjectStore({ dataDir: folder, objectStore: `file:${folder}` } as never, {
    guard: { someObjects: () => someObjects(db), clock: world.clock },
  })
  const away = { put: false, remove: false }
  const fail = () => {
    throw problem('OBJECT_STORE_UNAVAILABLE', 'the store is away')
  }
  const objects: typeof stored = {
    ...stored,
    put: async (...input) => (away.put ? fail() : stored.put(...input)),
    remove: async (key) => (away.remove ? fail() : stored.remove(key)),
  }
  const deps = { ...world, objects }
  const authenticate = { platform: authenticateUser(world) }
  const { url } = await servedApp(brandingFeature.routes?.(deps) ?? [], { authenticate, clock: world.clock } as never)
  const as = async (localpart: string, roles: readonly string[]) => {
    const { password } = await world.aUser(localpart, roles)
    const { token } = await world.logIn(localpart, password)
    return makeClient(brandingContract, { baseUrl: url, headers: () => ({ connection: 'close', authorization: `Bearer ${token}` }) })
  }
  const ended = new AbortController()
  onTestFinished(() => ended.abort())
  const cleanUp = () => brandingFeature.cleanup?.(deps)[0]?.(ended.signal)
  const get = (path: string | null, headers: Record<string, string> = {}) => fetch(`${url}${path}`, { headers })
  const rows = () => db.selectFrom('logos').select(['id', 'state']).orderBy('id').execute()
  const keys = async () => (await namedObjects(db)).map(({ key }) => key)
  return { world, objects: stored, away, as, cleanUp, get, rows, keys }
}

onBothDialects('the branding of a tenant', (fresh) => {
  test('is changed by its administration alone, published, and in the record', async () => {
    const { world, as } = await aWorld(await fresh())
    const [ida, tom] = [await as('ida', ['tenant-admin']), await as('tom', ['teacher'])]
    expect(await ida.showBranding()).toMatchObject({ color: null, contrast: null, logoPath: null, logo: null })
    const changed = await ida.changeBranding({ body: { tenantName: 'Anna School', color: '#FFEE00' } })
    expect(changed).toMatchObject({ tenantName: 'Anna School', color: '#ffee00', textColor: '#000000' })
    expect(changed.contrast?.onWhite).toBeLessThan(4.5)
    expect(changed.contrast?.onBlack).toBeGreaterThan(4.5)
    expect(await ida.changeBranding({ body: { color: null } })).toMatchObject({ tenantName: 'Anna School', color: null, contrast: null })
    const calls = [
      () => tom.showBranding(),
      () => tom.changeBranding({ body: { color: null } }),
      () => tom.putLogo(image(aPng(64, 64))),
      () => tom.deleteLogo(),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const events = await world.db.selectFrom('events').select('event_type').where('event_type', '=', 'tenant.changed').execute()
    expect(events).toHaveLength(2)
    const audit = await world.db.selectFrom('audit').select(['actor', 'subject', 'data']).where('action', '=', 'tenant.changed').execute()
    expect(audit.map(({ data }) => JSON.parse(data as string))).toEqual([
      { branding: { tenantName: 'Anna School', color: '#ffee00' } },
      { branding: { color: null } },
    ])
    expect(audit[0]).toMatchObject({ actor: expect.stringMatching(/^user:@ida:/), subject: 'acme' })
  })

  test('a logo is public by its id, cached, and not sent again while unchanged', async () => {
    const { as, get } = await aWorld(await fresh())
    const ida = await as('ida', ['tenant-admin'])
    const png = aPng(300, 120)
    const { logoPath, logo } = await ida.putLogo(image(png, '../../evil.svg'))
    expect(logo).toEqual({ contentType: 'image/png', bytes: png.length, width: 300, height: 120 })
    expect(logoPath).toMatch(/^\/api\/public\/logos\/logo_[0-9a-z]{20}$/)
    const answer = await get(logoPath)
    expect(Buffer.from(await answer.arrayBuffer()).equals(png)).toBe(true)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': expect.stringMatching(/^inline; filename="logo\.png"/),
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'public, max-age=86400',
      etag: expect.stringMatching(/^"[0-9a-f]{32}"$/),
    })
    expect((await get(logoPath, { 'if-none-match': answer.headers.get('etag') ?? '' })).status).toBe(304)
    expect((await get(`/api/public/logos/logo_${'0'.repeat(20)}`)).status).toBe(404)
    expect((await get('/api/public/logos/..%2f..%2fsecret')).status).toBe(400)
  })

  test('a new logo replaces the one before, and a removed one is gone with its bytes', async () => {
    const { as, get, rows, keys, objects } = await aWorld(await fresh())
    const ida = await as('ida', ['tenant-admin'])
    const first = await ida.putLogo(image(aPng(64, 64)))
    const [firstKey = ''] = await keys()
    const second = await ida.putLogo(image(aPng(128, 128)))
    expect(second.logoPath).not.toBe(first.logoPath)
    expect([(await get(first.logoPath)).status, (await get(second.logoPath)).status]).toEqual([404, 200])
    expect([await objects.get(firstKey), (await rows()).length]).toEqual([undefined, 1])
    for (const _ of [1, 2]) expect(await ida.deleteLogo()).toMatchObject({ logoPath: null, logo: null })
    expect([(await get(second.logoPath)).status, await rows()]).toEqual([404, []])
  })

  test.each([
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'VALIDATION'],
    ['a cut image', aPng(64, 64).subarray(0, 50), 'VALIDATION'],
    ['a small image', aPng(15, 64), 'VALIDATION'],
    ['a wide image', aPng(2049, 16), 'VALIDATION'],
    ['a large file', Buffer.concat([aPng(64, 64), Buffer.alloc(512 * 1024)]), 'PAYLOAD_TOO_LARGE'],
  ] as const)('%s is refused, and nothing of it stays', async (_, content, code) => {
    const { as, rows } = await aWorld(await fresh())
    const ida = await as('ida', ['tenant-admin'])
    const before = await ida.putLogo(image(aPng(32, 32)))
    await expect(ida.putLogo(image(content))).rejects.toMatchObject({ code })
    expect(await ida.showBranding()).toEqual(before)
    expect(await rows()).toHaveLength(1)
  })

  test('a store that is away changes nothing, and what it did not erase housekeeping erases', async () => {
    const { world, as, away, cleanUp, rows, get } = await aWorld(await fresh())
    const ida = await as('ida', ['tenant-admin'])
    const before = await ida.putLogo(image(aPng(32, 32)))
    away.put = true
    await expect(ida.putLogo(image(aPng(64, 64)))).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
    expect(await ida.showBranding()).toEqual(before)
    away.put = false
    away.remove = true
    await ida.deleteLogo()
    expect((await get(before.logoPath)).status).toBe(404)
    expect(await cleanUp()).toBe('0 old logos')
    away.remove = false
    expect(await cleanUp()).toBe('1 old logo')
    expect((await rows()).map(({ state }) => state)).toEqual(['uploading'])
    await world.clock.advance(day)
    expect(await cleanUp()).toBe('1 old logo')
    expect(await rows()).toEqual([])
  })

  test('logos uploaded at once leave one, which is shown', async () => {
    const { as, rows, get } = await aWorld(await fresh())
    const ida = await as('ida', ['tenant-admin'])
    await Promise.all([32, 48, 64, 80].map((side) => ida.putLogo(image(aPng(side, side)))))
    const { logoPath } = await ida.showBranding()
    expect(await rows()).toEqual([{ id: logoPath?.split('/').at(-1), state: 'ready' }])
    expect((await get(logoPath)).status).toBe(200)
  })
})

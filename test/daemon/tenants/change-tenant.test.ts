import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { parseWindow } from '../../../src/core/wall-clock/index.ts'
import { aBoxesWorld, aLiveBox, anApi } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const nights = parseWindow('mon-fri 02:00-05:00; sun 22:00-06:00')

onBothDialects('the maintenance window of a tenant', (fresh) => {
  // The clock is at Monday, 5 January 2026, 02:00 UTC.
  const acme = async (windows = {}) => {
    const any = { free: null, pro: null, enterprise: null }
    const room = { ...(await aBoxesWorld(await fresh())), windows: { timeZone: 'Europe/Berlin', windows: { ...any, ...windows } } }
    await aLiveBox(room, 'acme')
    const api = await anApi(room)
    const change = (body: Parameters<typeof api.changeTenant>[0]['body']) => api.changeTenant({ params: { slug: 'acme' }, body })
    return { room, api, change }
  }

  test('is any time by default', async () => {
    const { api } = await acme()
    expect(await api.showTenant({ params: { slug: 'acme' } })).toMatchObject({ timeZone: null, maintenanceWindow: null, window: null })
    expect((await api.showBox({ params: { slug: 'acme' } })).window).toBeNull()
  })

  test('is set by a window, in its own or the platform’s time zone, and shown on tenant and box', async () => {
    const { api, change } = await acme()
    const berlin = await change({ maintenanceWindow: nights })
    expect(berlin.window).toEqual({
      window: nights,
      timeZone: 'Europe/Berlin',
      own: true,
      opensAt: '2026-01-04T21:00:00.000Z', // Sunday's and Monday's parts are one, from 22:00 to 06:00
      closesAt: '2026-01-05T05:00:00.000Z',
    })
    const tokyo = await change({ timeZone: 'Asia/Tokyo' })
    expect(tokyo).toMatchObject({ timeZone: 'Asia/Tokyo', maintenanceWindow: nights })
    expect(tokyo.window).toMatchObject({ opensAt: '2026-01-05T17:00:00.000Z', closesAt: '2026-01-05T20:00:00.000Z' })
    expect((await api.showBox({ params: { slug: 'acme' } })).window).toEqual(tokyo.window)
    expect((await api.listTenants()).tenants).toEqual([tokyo])
  })

  test('is inherited from its tier, and `any` overrides the tier', async () => {
    const { change } = await acme({ free: parseWindow('daily 03:00-04:00') })
    expect((await change({ timeZone: null })).window).toMatchObject({ own: false, opensAt: '2026-01-05T02:00:00.000Z' })
    expect((await change({ maintenanceWindow: nights })).window).toMatchObject({ own: true })
    expect((await change({ maintenanceWindow: 'any' })).window).toBeNull()
    expect((await change({ maintenanceWindow: null })).window).toMatchObject({ own: false })
  })

  test('is recorded in the audit log', async () => {
    const { room, change } = await acme()
    await change({ timeZone: 'Asia/Tokyo', maintenanceWindow: nights })
    const entries = await room.db.selectFrom('audit').selectAll().where('action', '=', 'tenant.window').execute()
    expect(entries.map(({ subject, data }) => [subject, JSON.parse(data)])).toEqual([
      ['acme', { timeZone: 'Asia/Tokyo', maintenanceWindow: nights }],
    ])
  })

  test.each([
    [{ timeZone: 'Mars/Olympus' }, /time zone/],
    [{ maintenanceWindow: [] }, /maintenanceWindow/],
    [{ maintenanceWindow: [{ days: ['moon'], from: '02:00', to: '05:00' }] }, /maintenanceWindow/],
    [{ maintenanceWindow: [{ days: ['mon'], from: '2', to: '05:00' }] }, /maintenanceWindow/],
    [{}, /must change something/],
  ])('%j is refused', async (body, why) => {
    const { change } = await acme()
    await expect(change(body as never)).rejects.toSatisfy((error) => isProblem(error, 'VALIDATION') && why.test(error.message))
  })

  test('of an unknown tenant is 404', async () => {
    const { api } = await acme()
    const unknown = api.changeTenant({ params: { slug: 'nobody' }, body: { timeZone: 'UTC' } })
    await expect(unknown).rejects.toSatisfy((error) => isProblem(error, 'NOT_FOUND'))
  })
})

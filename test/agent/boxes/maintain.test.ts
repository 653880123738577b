import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { assertNotInMaintenance, fenceFile, maintain, provision, report } from '../../../src/agent/boxes/index.ts'
import { memoryLocks } from '../../../src/agent/journal/index.ts'
import { aRunningBox, moving } from '../simulated/boxes.ts'
import { aPayload, aWorld } from '../update/an-update.ts'
import { aContext, anAgent, aProvision } from './provisioning.ts'

const known = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1 }

async function aManagedBox() {
  const agent = await anAgent()
  await moving(agent.host.clock, () => provision(agent.deps)(aContext().context, aProvision()), 10_000)
  const box = (await agent.deps.boxes.find('oak'))!
  const locks = memoryLocks()
  const command = (on: boolean, reason = 'new disks') =>
    maintain({ ...agent.deps, locks })(aContext().context, { ...known, on, reason }).then(({ report }) => report)
  return { ...agent, box, locks, command, path: fenceFile(box.project) }
}

test('maintenance closes the edge to people, says whose fence it is and since when, and opens it again', async () => {
  const { host, box, command, path } = await aManagedBox()
  const begun = await command(true)
  expect(begun).toMatchObject({ fenced: true, fence: { holder: 'maintenance', since: expect.stringMatching(/^\d{4}-.*Z$/) } })
  expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ reason: 'new disks' })
  expect(host.traffic.sendMessage(box)).toBe('fenced')
  const ended = await command(false)
  expect(ended.fenced).toBe(false)
  expect(ended.fence).toBeUndefined()
  expect(host.traffic.sendMessage(box)).toBe('stored')
})

test('on and off may come twice; the beginning stays the first one', async () => {
  const { host, command } = await aManagedBox()
  const first = await command(true)
  await host.clock.advance(60_000)
  expect((await command(true)).fence).toEqual(first.fence)
  await command(false)
  expect((await command(false)).fenced).toBe(false)
})

test('the fence of a command is neither taken over nor lifted', async () => {
  const { command, path } = await aManagedBox()
  const theirs = `${JSON.stringify({ commandId: 'ro_1.box_oak.1.update', raisedAt: '2026-01-01T00:00:00.000Z' })}\n`
  await writeFile(path, theirs)
  const held = { code: 'BOX_HELD', message: expect.stringMatching(/ro_1\.box_oak\.1\.update since 2026-01-01/) }
  await expect(command(true)).rejects.toMatchObject(held)
  await expect(command(false)).rejects.toMatchObject(held)
  expect(await readFile(path, 'utf8')).toBe(theirs)
})

test('an unreadable fence file is still a fence, of an unknown owner', async () => {
  const { deps, command, path } = await aManagedBox()
  for (const text of ['', 'null', '[]', '{"commandId":7}']) {
    await writeFile(path, text)
    expect((await report(deps)(aContext().context, known)).report).toMatchObject({
      fenced: true,
      fence: { holder: 'unknown', since: null },
    })
    await expect(command(false)).rejects.toMatchObject({ code: 'BOX_HELD' })
  }
})

test('a box that a command works on, or that is only observed, is refused', async () => {
  const { deps, box, locks, command } = await aManagedBox()
  const lock = await locks.acquire('oak')
  await expect(command(true)).rejects.toMatchObject({ code: 'BOX_HELD' })
  await lock.release()
  await deps.boxes.put({ ...box, managed: false })
  await expect(command(true)).rejects.toMatchObject({
    code: 'BOX_NOT_MANAGED',
    message: expect.stringMatching(/only observed\. fix: tenantry boxes import oak --plan/),
  })
})

test('a box in maintenance is not updated, and the refusal says how to end it', async () => {
  const world = await aWorld()
  await maintain({ ...world.host, boxes: world.boxes, locks: memoryLocks() })(aContext().context, {
    ...known,
    on: true,
    reason: 'new disks',
  })
  await expect(world.run(aPayload())).rejects.toMatchObject({
    code: 'BOX_HELD',
    message: expect.stringMatching(/in maintenance since .* \(new disks\).*boxes maintenance off oak/),
  })
  expect(JSON.parse((await world.fence()) as string)).toMatchObject({ holder: 'maintenance' })
})

test('an open box is not in maintenance', async () => {
  const { host } = await anAgent()
  await expect(assertNotInMaintenance(await aRunningBox(host))).resolves.toBeUndefined()
})

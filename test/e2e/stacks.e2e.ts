import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { MatrixClient } from 'matrix-js-sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readMessages, whoAmI } from '../testbed/matrix-client.ts'
import { deleteTag, pushTag, testbedExists } from '../testbed/testbed.ts'
import type { Session } from './support/a-school.ts'
import { adoptStack, startedStack } from './support/adopt-stack.ts'
import { type ChatApp, chatApp } from './support/chat-app.ts'
import { type Conversation, liftMessageLimit, type ReachableBox, reachableBox } from './support/conversation.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { platformBehindEdge } from './support/platform-app.ts'
import { stackSpecs, type WrittenStack } from './support/written-stack.ts'

// Stacks that their owners wrote and that can be adopted: each becomes a box that an update and a rollback leave whole.

/** The image that dies under a version that a plan accepts as an upgrade. */
const dying = '1.163.8'
const password = 'correct horse battery'
const specs = testbedExists() ? (await stackSpecs()).filter(({ refused }) => refused === undefined) : []

let fleet: Fleet
let platform: Awaited<ReturnType<typeof platformBehindEdge>>
const adopted = new Map<string, Readonly<{ stack: WrittenStack; talk: Conversation; box: ReachableBox }>>()
const writers = new Map<string, Writer>()

beforeAll(async () => {
  fleet = await startFleet({ TENANTRY_TRUSTED_PROXIES: '127.0.0.1', TENANTRY_ROLLOUTS_PER_HOST: '3' })
  platform = await platformBehindEdge(fleet.url)
  await fleet.applySynapse('1.157.1')
  await pushTag('synapse', 'v1.163.2-dies', `v${dying}`, { relabel: true })
})
logOnFailure(() => fleet)
afterAll(async () => {
  for (const writer of writers.values()) await writer.stop()
  await deleteTag('synapse', `v${dying}`)
  await platform?.close()
  await fleet?.end()
})

describe.skipIf(!testbedExists())('a stack that is adopted, with', () => {
  // Two at a time: a start and an adoption often wait.
  test.concurrent.each(specs)('$name', async (spec) => {
    const { stack, talk } = await startedStack(fleet, spec)
    expect(await adoptStack(fleet, stack)).toEqual({ managed: true, said: expect.any(String) })
    const { ports } = await show(stack.slug)
    if (!ports) throw new Error(`${stack.slug} has no ports`)
    const box = reachableBox(stack.slug, stack.folder, ports)
    talk.follow(box.publicUrl)
    await talk.expectComplete()
    adopted.set(spec.name, { stack, talk, box })
  })

  const managed = specs.map(({ name }) => name)

  test(`one rollout updates all ${managed.length}, and no acknowledged message is lost`, async () => {
    expect([...adopted.keys()].toSorted()).toEqual(managed)
    const began = [...adopted].map(async ([name, { stack, talk, box }]) => {
      writers.set(name, await startWriter(stack, talk, box))
      // One phase for all: how phases follow each other is proven elsewhere.
      await fleet.api.boxes.changeBox({ params: { slug: stack.slug }, body: { canary: true } })
    })
    await Promise.all(began)
    expect(await rollOut('1.163.2')).toEqual({ exitCode: 0, statuses: Object.fromEntries(slugs().map((slug) => [slug, 'succeeded'])) })
    await expectWhole('1.163.2')
  })

  test('an image that dies is rolled back in each of them, and no acknowledged message is lost', async () => {
    const { statuses } = await rollOut(dying)
    expect(statuses).toEqual(Object.fromEntries(slugs().map((slug) => [slug, 'rolled_back'])))
    await expectWhole('1.163.2')
  })
})

const show = (slug: string) => fleet.api.boxes.showBox({ params: { slug } })
const slugs = () => [...adopted.values()].map(({ stack }) => stack.slug)

/** A rollout over every box; where it pauses after a failure it goes on without what failed. */
async function rollOut(version: string) {
  await fleet.applySynapse(version)
  const threshold = ['--failure-threshold', '100']
  const made = await fleet.tenantry('rollouts', 'create', '--target', slugs().join(','), ...threshold, '--start', '--wait', '--json')
  const { id } = made.json<Rollout>()
  for (;;) {
    const { status, actions } = (await fleet.must('rollouts', 'show', id, '--boxes', '--json')).json<Rollout>()
    if (status !== 'paused')
      return { exitCode: made.exitCode, statuses: Object.fromEntries(actions.map((action) => [action.tenantSlug, action.status])) }
    await fleet.tenantry('rollouts', 'resume', id, '--skip-failed', '--wait', '--json')
  }
}

type Rollout = Readonly<{ id: string; status: string; actions: readonly Readonly<{ tenantSlug: string; status: string }>[] }>

async function expectWhole(version: string) {
  for (const [name, { stack, talk }] of adopted) {
    const { installed, fence } = await show(stack.slug)
    expect([name, installed?.synapse, fence]).toEqual([name, version, null])
    await talk.expectComplete()
    await (writers.get(name) as Writer).expectComplete()
  }
}

type Writer = Readonly<{ expectComplete(): Promise<void>; stop(): Promise<void> }>

/** A person with a chat app, logged in through the platform, who writes all the time; what the chat server acknowledged must stay. */
async function startWriter({ slug, chatDomain }: WrittenStack, talk: Conversation, box: ReachableBox): Promise<Writer> {
  const passwordFile = join(fleet.folder, `password-of-${slug}`)
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  await fleet.must('users', 'create', slug, 'clara', '--role', 'teacher', '--password-file', passwordFile)
  const { status, body } = await platform.ask<Session>('POST', '/api/auth/v1/login', {
    body: { tenant: slug, username: 'clara', password, deviceName: 'Phone of clara' },
  })
  expect([status, body.matrixUserId]).toEqual([200, `@clara:${chatDomain}`])
  const server = { baseUrl: box.platformUrl, headers: { 'x-tenantry-edge-secret': box.edgeSecret } }
  await liftMessageLimit({ ...talk.anna, ...server }, body.matrixUserId)
  const app: ChatApp = await chatApp({ baseUrl: box.publicUrl, userId: body.matrixUserId, accessToken: body.matrixAccessToken })
  const { room_id: roomId } = await app.client.createRoom({ name: 'Notes' })
  const acknowledged: string[] = []
  let isOver = false
  const writing = write(app.client, roomId, acknowledged, () => isOver)
  const clara = { baseUrl: box.publicUrl, userId: body.matrixUserId, accessToken: body.matrixAccessToken, deviceId: '' }
  return {
    expectComplete: async () => {
      const count = acknowledged.length
      expect(count).toBeGreaterThan(0)
      expect(await whoAmI(clara)).toBe(body.matrixUserId)
      const there = new Set((await readMessages(clara, roomId)).map(({ eventId }) => eventId))
      expect(acknowledged.slice(0, count).filter((id) => !there.has(id))).toEqual([])
      // The app's long poll has gone on by itself: it hears what is written now.
      const { event_id } = await app.client.sendTextMessage(roomId, `after ${count}`)
      expect((await app.hears(roomId, `after ${count}`)).getId()).toBe(event_id)
    },
    stop: async () => {
      isOver = true
      await writing
      app.client.stopClient()
    },
  }
}

async function write(client: MatrixClient, roomId: string, acknowledged: string[], isOver: () => boolean): Promise<void> {
  for (let n = 1; !isOver(); n++) {
    // A refusal while the box is fenced or its server restarts is no acknowledgement.
    const sent = await client.sendTextMessage(roomId, `note ${n}`).catch(() => undefined)
    if (sent) acknowledged.push(sent.event_id)
    await new Promise((next) => setTimeout(next, 1_000))
  }
}

import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dockerEnvironment } from '../testbed/testbed.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { eventually } from './support/programs.ts'

// An operator looks at the lists while a service of a real box stops and comes back.

const slug = 'kita-still'
let fleet: Fleet

beforeAll(async () => {
  fleet = await startFleet()
  await fleet.applySynapse('1.163.2')
  await fleet.provision(slug, 'light')
})
logOnFailure(() => fleet)
afterAll(() => fleet?.end())

async function docker(...args: string[]): Promise<string> {
  return (await execa('docker', args, { env: dockerEnvironment(fleet.testbed) })).stdout
}

const containerOf = (service: string) =>
  docker(
    ...['ps', '--all', '--quiet', '--filter', `label=com.docker.compose.project.working_dir=${fleet.boxFolder(slug)}`],
    ...['--filter', `label=com.docker.compose.service=${service}`],
  )

const health = async () => (await fleet.api.boxes.showBox({ params: { slug } })).health
const firstLine = async (...args: string[]) => (await fleet.must(...args)).stdout.split('\n')[0]

test.each([
  ['synapse', 'down', '0 of 1 chats run'],
  ['minio', 'degraded', 'the chat runs'],
])('a stopped %s makes the box %s within seconds, and it runs again by itself', async (service, state, chats) => {
  await eventually('all run', async () => (await health())?.state === 'running')
  const container = await containerOf(service)
  await docker('stop', container)
  // A report follows 2 s after the last event, and 15 s after the report before; without events, the next check comes within a minute.
  await eventually(`the box is ${state}`, async () => (await health())?.state === state, { everyMs: 200, timeoutMs: 45_000 })
  expect(await firstLine('status')).toMatch(new RegExp(`^chats +${chats}; ${state}: ${slug}$`))
  expect(await firstLine('boxes', 'list')).toBe(`${chats}; ${state}: ${slug}`)
  expect((await fleet.must('boxes', 'show', slug)).stdout).toMatch(new RegExp(`state +${state} since .*: ${service} is exited`))
  await docker('start', container)
  await eventually('all run again', async () => (await health())?.state === 'running')
  expect(await firstLine('boxes', 'list')).toBe('the chat runs')
})

test('a chat server that hangs, though its container runs, is found by the next check', async () => {
  await eventually('all run', async () => (await health())?.state === 'running')
  const container = await containerOf('synapse')
  await docker('pause', container)
  // An agent checks its boxes when it starts, and then once a minute.
  await fleet.agent.kill()
  fleet.agent.start()
  await eventually('the box is down', async () => (await health())?.state === 'down')
  expect((await health())?.failing).toContain('chatApi')
  await docker('unpause', container)
  await eventually('it runs again', async () => (await health())?.state === 'running')
})

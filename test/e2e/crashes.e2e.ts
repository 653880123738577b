import { on } from 'node:events'
import { watch } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deleteTag, dockerEnvironment, pushTag } from '../testbed/testbed.ts'
import { type Conversation, converse, pollEdge, type ReachableBox } from './support/conversation.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { eventually } from './support/programs.ts'

// Daemon or agent are killed during an update: the box and the rollout end as if nothing had happened.

let fleet: Fleet
let box: ReachableBox
let talk: Conversation
const slug = 'kita-see'
const madeTags: string[] = []

beforeAll(async () => {
  // A new server that never gets well is waited for as long as this.
  fleet = await startFleet({ TENANTRY_PROBE_TIMEOUT_MS: '40000' })
  await fleet.applySynapse('1.157.1')
  box = await fleet.provision(slug, 'light')
  talk = await converse(box, 20)
})
logOnFailure(() => fleet)
afterAll(async () => {
  for (const tag of madeTags) await deleteTag('synapse', tag)
  await fleet?.end()
})

let patch = 20
/** An unknown version: the newest Synapse under a new name and digest. */
async function newVersion(from = 'v1.163.2'): Promise<string> {
  patch += 1
  const version = `1.163.${patch}`
  await pushTag('synapse', from, `v${version}`, { relabel: true })
  madeTags.push(`v${version}`)
  await fleet.applySynapse(version)
  return version
}

async function startRollout(...options: string[]): Promise<string> {
  return (await fleet.must('rollouts', 'create', '--target', slug, '--start', '--json', ...options)).json<{ id: string }>().id
}

const isOver = async (id: string) => {
  const rollout = await fleet.api.rollouts.getRollout({ params: { id } })
  return rollout.counts.running === 0 && ['done', 'paused', 'failed'].includes(rollout.status) && rollout
}
const ended = (id: string) => eventually(`${id} has ended`, () => isOver(id))

/** Once the journal of the rollout's update says that the step was begun. An update that ends without it fails at once, and says why. */
const begun = async (id: string, step: string) => {
  const seen = new AbortController()
  await Promise.race([journalled(id, step, seen.signal), endedWithout(id, step, seen.signal)]).finally(() => seen.abort())
}

const journal = () => join(fleet.folder, 'agent', 'journal')

/** Looks at each change of the journal: a step may be over within milliseconds, and asking all the time slows down what is waited for. */
async function journalled(id: string, step: string, signal: AbortSignal): Promise<void> {
  const changes = on(watch(journal(), { signal }), 'change', { signal })
  if (await journalNames(id, step)) return
  for await (const _ of changes) if (await journalNames(id, step)) return
}

async function journalNames(id: string, step: string): Promise<boolean> {
  const folder = journal()
  const files = (await readdir(folder)).filter((name) => name.includes(id) && name.includes('update'))
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')))
  return texts.some((text) => new RegExp(`"step":\\s*"${step}"`).test(text))
}

async function endedWithout(id: string, step: string, seen: AbortSignal): Promise<void> {
  const over = await eventually('the step was seen, or the rollout is over', async () => {
    if (seen.aborted) return 'seen' as const
    return isOver(id)
  })
  if (over !== 'seen' && !seen.aborted) throw new Error(`the rollout is over without "${step}": ${JSON.stringify(over.actions, null, 1)}`)
}

test('the daemon is killed during an update: the agent commits alone, lifts the fence, and reports when the daemon is back', async () => {
  await newVersion()
  const poll = pollEdge(box, talk)
  const id = await startRollout()
  await begun(id, 'snapshot')
  await fleet.daemon.kill('SIGKILL')
  await begun(id, 'unfence')
  await eventually('the chat is open again', async () => (await fetch(`${box.publicUrl}/_matrix/client/versions`)).ok)
  await talk.say('said while the daemon was away')
  fleet.daemon.start()
  expect(await ended(id)).toMatchObject({ status: 'done', actions: [{ status: 'succeeded', attempt: 1 }] })
  expect([...(await poll.stop()).keys()].sort()).toEqual(['200', 'fenced'])
  await talk.expectComplete()
})

/** Kills the agent at each of the steps, each time during the same update. */
async function killAt(id: string, steps: readonly string[]): Promise<void> {
  for (const step of steps) {
    await begun(id, step)
    await fleet.agent.kill('SIGKILL')
    fleet.agent.start()
  }
}

/** Neither a slot, a session with a backup, nor a copy of the database with a server on it. */
async function expectNothingLeft(): Promise<void> {
  const docker = async (...args: string[]) =>
    (await execa(fleet.testbed.docker, args, { env: dockerEnvironment(fleet.testbed), extendEnv: false })).stdout.trim()
  const database = await docker('ps', '-q', '--filter', `name=box-${slug}-postgres`)
  const left = `select (select count(*) from pg_replication_slots) + (select count(*) from pg_stat_activity where query like '%pg_backup%' and pid <> pg_backend_pid())`
  const psql = ['psql', '-h', '127.0.0.1', '-U', 'postgres', '-At', '-c', left]
  expect(await docker('exec', database, ...psql)).toBe('0')
  await eventually('only the volumes of the box are left', async () => {
    const volumes = (await docker('volume', 'ls', '-q', '--filter', `name=box-${slug}-`)).split('\n')
    return volumes.length === 3
  })
}

// Every step once. Steps of one update lie apart, so that after each kill the agent continues through others first.
test.each([
  ['until-stable', 'before', ['prefetch', 'snapshot', 'recreate']],
  // The box is open during the last one.
  ['until-proven', 'before', ['fence', 'cold-copy', 'quick-probe', 'probe']],
  ['until-proven', 'hot', ['hot-copy', 'fence', 'cold-copy', 'recreate', 'unfence', 'snapshot']],
  ['until-stable', 'before', ['stop', 'rewrite', 'commit']],
])('fenced %s, snapshot %s, the agent is killed at %j of one update: it continues each time and commits', async (mode, snapshot, steps) => {
  await newVersion()
  const id = await startRollout('--fence-mode', mode, '--snapshot-mode', snapshot)
  await killAt(id, steps)
  expect(await ended(id)).toMatchObject({ status: 'done', actions: [{ status: 'succeeded', attempt: 1 }] })
  await talk.say(`after kills at ${steps}`)
  await talk.expectComplete()
  await expectNothingLeft()
})

// One dies before it has opened the database; the broken one has written to it, so only the restored data are as they were.
test.each([
  [['restore-stop', 'restore-probe'], 'dies'],
  [['restore-data', 'restore-start'], 'broken'],
])('the agent is killed at %j during the rollback from 1.163.2-%s: it continues and the box is as before', async (steps, how) => {
  await newVersion(`v1.163.2-${how}`)
  const id = await startRollout()
  await killAt(id, steps)
  expect(await ended(id)).toMatchObject({ status: 'paused', actions: [{ status: 'rolled_back', attempt: 1 }] })
  await fleet.must('rollouts', 'abort', id, '--yes')
  await talk.expectComplete()
  await expectNothingLeft()
})

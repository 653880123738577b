import { rm, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe } from 'vitest'
import { readBoxSecrets } from '../../src/agent/boxes/box-secrets.ts'
import { fenceFile } from '../../src/agent/boxes/index.ts'
import type { Project } from '../../src/agent/ports/index.ts'
import { homeserverSuite } from '../daemon/homeserver/suite.ts'
import { roomsSuite } from '../daemon/spaces/rooms-suite.ts'
import { emptyDatabase } from '../support/databases.ts'
import { aHomeserverWorld, type HomeserverWorld } from '../support/homeserver-world.ts'
import { compose, readTestbed } from '../testbed/testbed.ts'
import { type OneBox, oneBox } from './support/one-box.ts'
import { eventually } from './support/programs.ts'
import { sessionsSuite } from './support/sessions-suite.ts'
import { spacesSuite } from './support/spaces-suite.ts'

// The platform's way to a real Synapse, through the real edge of its box: what the stand-in of a chat server passes too, and what stands on it.

const slug = 'e2e-users'
let box: OneBox
let project: Project
let world: HomeserverWorld

beforeAll(async () => {
  box = await oneBox({ slug, synapse: 'synapse-1.163.2' })
  project = (await box.box()).project
  const secrets = await readBoxSecrets(project)
  if (!secrets) throw new Error('the box has no secrets')
  const { db } = await emptyDatabase('sqlite')
  world = await aHomeserverWorld(db, { origin: `http://127.0.0.1:${box.ports.platform}`, chatDomain: `${slug}.test`, secrets })
}, 240_000)

afterAll(async () => {
  await world?.close()
  await world?.db.destroy()
  await box?.end()
})

const subject = () => ({
  world,
  homeserver: world.homeserver,
  chatDomain: world.chatDomain,
  publicUrl: `http://127.0.0.1:${box.ports.public}`,
  fence,
})
const fence = (on: boolean) => (on ? writeFile(fenceFile(project), '{}\n', { mode: 0o644 }) : rm(fenceFile(project)))

async function loseAdminToken() {
  const lost = await world.homeserver.send({ method: 'POST', path: '/_matrix/client/v3/logout/all', body: {}, by: 'admin' })
  if (lost.kind !== 'ok') throw new Error('the administrator is still logged in')
}

async function restart() {
  await compose(readTestbed(), project.folder)('restart', 'synapse')
  await eventually('the chat server answers', async () => (await fetch(`${subject().publicUrl}/_matrix/client/versions`)).ok)
}

/** Restores only the chat server's database, which holds all its rooms. */
async function backUp() {
  const engine = compose(readTestbed(), project.folder)
  const inPostgres = (...command: string[]) => engine('exec', '-T', '-u', 'postgres', 'postgres', ...command)
  await inPostgres('pg_dump', '-Fc', '-f', '/tmp/before', 'synapse')
  return async () => {
    await engine('stop', 'synapse')
    await inPostgres('dropdb', '--force', 'synapse')
    await inPostgres('createdb', '-T', 'template0', '-E', 'UTF8', '--locale', 'C', '-O', 'synapse', 'synapse')
    await inPostgres('pg_restore', '-d', 'synapse', '/tmp/before')
    await engine('start', 'synapse')
    await eventually('the chat server answers', async () => (await fetch(`${subject().publicUrl}/_matrix/client/versions`)).ok)
  }
}

describe('a real chat server', () => {
  homeserverSuite(() => ({ ...subject(), loseAdminToken, restart }))
})

describe('rooms in a real chat server', () => {
  roomsSuite(() => world)
})

describe('sessions over a real chat server', () => {
  sessionsSuite(subject)
})

describe('spaces over a real chat server', () => {
  spacesSuite(() => ({ ...subject(), backUp }))
})

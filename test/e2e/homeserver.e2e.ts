import { rm, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe } from 'vitest'
import { readBoxSecrets } from '../../src/agent/boxes/box-secrets.ts'
import { fenceSwitch } from '../../src/agent/boxes/index.ts'
import { homeserverSuite } from '../daemon/homeserver/suite.ts'
import { roomsSuite } from '../daemon/spaces/rooms-suite.ts'
import { emptyDatabase } from '../support/databases.ts'
import { aHomeserverWorld, type HomeserverWorld } from '../support/homeserver-world.ts'
import { type OneBox, oneBox } from './support/one-box.ts'

// The platform's way to a real Synapse, through the real edge of its box: the suite that its stand-in passes too.

const slug = 'e2e-users'
let box: OneBox
let world: HomeserverWorld
let fenceFile: string

beforeAll(async () => {
  box = await oneBox({ slug, synapse: 'synapse-1.163.2' })
  const { project } = await box.box()
  const secrets = await readBoxSecrets(project)
  if (!secrets) throw new Error('the box has no secrets')
  fenceFile = fenceSwitch(project)
  const { db } = await emptyDatabase('sqlite')
  world = await aHomeserverWorld(db, { origin: `http://127.0.0.1:${box.ports.platform}`, chatDomain: `${slug}.test`, secrets })
}, 240_000)

afterAll(async () => {
  await world?.close()
  await world?.db.destroy()
  await box?.end()
})

describe('a real chat server', () => {
  homeserverSuite(() => ({
    homeserver: world.homeserver,
    chatDomain: world.chatDomain,
    fence: (on) => (on ? writeFile(fenceFile, '{}\n', { mode: 0o644 }) : rm(fenceFile)),
    loseAdminToken: async () => {
      const lost = await world.homeserver.send({ method: 'POST', path: '/_matrix/client/v3/logout/all', body: {}, admin: true })
      if (lost.kind !== 'ok') throw new Error('the administrator is still logged in')
    },
  }))
})

describe('rooms in a real chat server', () => {
  roomsSuite(() => world)
})

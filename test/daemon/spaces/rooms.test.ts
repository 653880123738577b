import { afterAll, beforeAll, describe } from 'vitest'
import { aChatServer, type ChatServer } from '../../support/chat-server.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aHomeserverWorld, type HomeserverWorld } from '../../support/homeserver-world.ts'
import { roomsSuite } from './rooms-suite.ts'

let chat: ChatServer
let world: HomeserverWorld

beforeAll(async () => {
  chat = await aChatServer()
  world = await aHomeserverWorld((await emptyDatabase('sqlite')).db, chat)
})

afterAll(async () => {
  await world.close()
  await world.db.destroy()
  await chat.close()
})

describe('rooms in the simulated chat server', () => {
  roomsSuite(() => world)
})

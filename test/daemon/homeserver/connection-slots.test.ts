import { expect, test } from 'vitest'
import { makeSlots } from '../../../src/daemon/homeserver/chat-client.ts'
import { makeChatClient } from '../../../src/daemon/homeserver/index.ts'
import { aChatServer } from '../../support/chat-server.ts'

const stays = new AbortController().signal

test('a limited number run at once, others wait in order, and the next one starts at once', async () => {
  const places = makeSlots({ atOnce: 1, waiting: 2 })
  const came: string[] = []
  const come = (name: string, signal = stays) =>
    places.enter('a', signal).then((entry) => {
      came.push(`${name} ${entry}`)
    })
  await come('anna')
  const others = ['ben', 'cora'].map((name) => come(name))
  await come('dora')
  expect(came).toEqual(['anna in', 'dora full'])
  expect(await places.enter('another server', stays)).toBe('in')
  places.leave('a')
  await others[0]
  places.leave('a')
  await others[1]
  expect(came.slice(2)).toEqual(['ben in', 'cora in'])
})

test('a leaver releases its slot at once, and a waiting leaver takes none', async () => {
  const places = makeSlots({ atOnce: 1, waiting: 1 })
  const gone = new AbortController()
  await places.enter('a', stays)
  const ben = places.enter('a', gone.signal)
  expect(await places.enter('a', stays)).toBe('full')
  gone.abort()
  expect(await ben).toBe('left')
  expect(await places.enter('a', gone.signal)).toBe('left')
  const cora = places.enter('a', stays)
  places.leave('a')
  expect(await cora).toBe('in')
  places.leave('a')
  expect(await places.enter('a', stays)).toBe('in')
})

test('a flood of logins at a hanging server leaves connections for the platform, and is refused beyond its share', async () => {
  const chat = await aChatServer()
  const { ask, close } = makeChatClient()
  let letGo = () => {}
  chat.state.hold = new Promise((resolve) => {
    letGo = resolve
  })
  const headers = { 'x-tenantry-edge-secret': chat.secrets.edgeSecret }
  const login = { method: 'POST', path: '/_matrix/client/v3/login', body: { identifier: { user: '@x:acme.example' } }, headers } as const
  const tries = Array.from({ length: 100 }, () =>
    ask(chat.origin, { ...login, login: { signal: undefined } }).then(
      ({ status }) => String(status),
      (error: Error) => error.message,
    ),
  )
  await expect.poll(() => chat.asked.length).toBe(24)
  chat.state.hold = undefined
  const own = await ask(chat.origin, { method: 'GET', path: '/_matrix/client/v3/account/whoami', headers })
  expect(own.status).toBe(401)
  letGo()
  const said = await Promise.all(tries)
  const refused = said.filter((one) => one === 'too many queued logins').length
  expect(refused).toBeGreaterThanOrEqual(100 - 24 - 48) // more on a machine so slow that their patience ends
  expect(said.filter((one) => one === '403')).toHaveLength(100 - refused)
  await close()
  await chat.close()
})

import { get } from 'node:https'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { startPlatformEdge } from '../../support/platform-edge.ts'
import { aPlatformUser } from '../../support/platform-user.ts'
import { aFolder, aKey, aRunningDaemon } from '../../support/running-daemon.ts'

// A school whose pages all have one address, behind the shipped nginx, through a restart of the daemon.

/** Ten for each user: as many as a user may have. */
const count = Number(process.env.TENANTRY_RESTART_STREAMS ?? 160)

/** A client as the EventSource standard has it: it ends for good at any status but 200, and reconnects in all other cases. */
class StandardClient {
  state: 'connecting' | 'open' | 'closed' = 'connecting'
  statuses: number[] = []
  #retryMs = 3000
  #lastEventId = ''
  #left = false

  constructor(port: number, servername: string, authorization: string) {
    this.#connect({ host: '127.0.0.1', port, servername, authorization })
  }

  leave(): void {
    this.#left = true
  }

  #connect(to: Readonly<{ host: string; port: number; servername: string; authorization: string }>): void {
    this.state = 'connecting'
    const { authorization, ...server } = to
    const again = () => {
      if (this.#left || this.state === 'closed') return
      this.state = 'connecting'
      setTimeout(() => this.#connect(to), this.#retryMs).unref()
    }
    const headers = { host: to.servername, accept: 'text/event-stream', authorization, 'last-event-id': this.#lastEventId }
    const asked = get({ ...server, rejectUnauthorized: false, agent: false, path: '/api/platform/v1/events/stream', headers }, (answer) => {
      const { statusCode = 0 } = answer
      this.statuses.push(statusCode)
      if (statusCode !== 200) {
        this.state = 'closed'
        return void answer.resume()
      }
      answer.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('event: ')) this.state = 'open'
        this.#retryMs = Number(/^retry: (\d+)$/m.exec(text)?.[1] ?? this.#retryMs)
        this.#lastEventId = /^id: (\d+)$/m.exec(text)?.[1] ?? this.#lastEventId
      })
      answer.on('close', again).on('error', () => undefined)
      if (this.#left) asked.destroy()
    })
    asked.on('error', again)
  }
}

test(`${count} streams of one address are all back after a restart`, async () => {
  const env = {
    TENANTRY_LISTEN: `127.0.0.1:${await freePort()}`,
    TENANTRY_DATA_DIR: await aFolder('restart'),
    TENANTRY_SECRET_KEY: aKey(),
    TENANTRY_TRUSTED_PROXIES: '127.0.0.1',
  }
  let daemon = await aRunningDaemon({ env })
  onTestFinished(() => daemon.close())
  const edge = await startPlatformEdge(Number(env.TENANTRY_LISTEN.split(':')[1]))
  onTestFinished(edge.close)
  const users: string[] = []
  for (let n = 0; n < count / 10; n++) users.push(await aPlatformUser(daemon, { tenant: 'linden', localpart: `pupil${n}` }))
  const clients = Array.from(
    { length: count },
    (_, n) => new StandardClient(edge.ports.secure, edge.serverName, users[n % users.length] as string),
  )
  onTestFinished(() => {
    for (const client of clients) client.leave()
  })
  const open = () => clients.filter(({ state }) => state === 'open').length
  const allOpen = () => expect.poll(open, { timeout: 100_000, interval: 50 }).toBe(count)
  await allOpen()
  await daemon.close()
  await expect.poll(open, { timeout: 10_000, interval: 20 }).toBe(0)
  await new Promise((away) => setTimeout(away, 2000))
  daemon = await aRunningDaemon({ env })
  const begun = performance.now()
  await allOpen()
  const seconds = (performance.now() - begun) / 1000
  if (process.env.TENANTRY_RESTART_STREAMS) console.log(`${count} streams back after ${seconds.toFixed(1)} s`)
  expect(seconds).toBeLessThan(60)
  expect(new Set(clients.flatMap(({ statuses }) => statuses))).toEqual(new Set([200]))
})

// Clients of event streams as the EventSource standard has them, each with an address of its school. Reports whenever all of them are open.
import { get } from 'node:http'

const [port, perAddress] = process.argv.slice(2).map(Number)
/** Opened one after the other at first: what is measured is how they come back. */
const atOnce = 50
let [open, isFirst] = [0, true]
const statuses = {}

const addressOf = (n) => `198.51.100.${1 + Math.floor(n / perAddress)}`

function connect(client, done) {
  const headers = { ...client.headers, accept: 'text/event-stream', ...(client.lastEventId && { 'last-event-id': client.lastEventId }) }
  let isOpen = false
  const again = () => {
    if (isOpen) open -= 1
    isOpen = false
    setTimeout(() => connect(client, done), client.retryMs)
  }
  const asked = get({ host: '127.0.0.1', port, agent: false, path: '/api/platform/v1/events/stream', headers }, (answer) => {
    statuses[answer.statusCode] = (statuses[answer.statusCode] ?? 0) + 1
    // The standard gives up for good at any other status.
    if (answer.statusCode !== 200) return void answer.resume()
    answer.setEncoding('utf8').on('data', (text) => {
      client.retryMs = Number(/^retry: (\d+)$/m.exec(text)?.[1] ?? client.retryMs)
      client.lastEventId = /^id: (\d+)$/m.exec(text)?.[1] ?? client.lastEventId
      if (isOpen || !text.includes('event: ')) return
      isOpen = true
      open += 1
      done()
    })
    answer.on('close', again).on('error', () => undefined)
  })
  asked.on('error', again)
}

process.once('message', ({ users, streams }) => {
  const clients = Array.from({ length: streams }, (_, n) => ({
    headers: { authorization: users[n % users.length], 'x-forwarded-for': addressOf(n) },
    retryMs: 3000,
    lastEventId: '',
  }))
  let next = 0
  const begin = () => {
    const client = clients[next++]
    if (client) connect(client, () => (isFirst ? begin() : undefined))
  }
  for (let n = 0; n < atOnce; n++) begin()
  let wasFull = false
  setInterval(() => {
    const isFull = open === streams
    if (isFull !== wasFull) process.send({ isFull, statuses })
    if (isFull) isFirst = false
    wasFull = isFull
  }, 20)
})
process.send('ready')

// Chat servers of many tenants in one process, each at an address of its own: they answer `/sync` as Synapse does without new messages, and
// return a message when the parent asks for one.
import { createServer } from 'node:http'

const waitMs = 30_000
/** Requests that wait, by the address that was asked. */
const waiting = new Map()
let token = 1

const answer = (response, body) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
const next = () => `s${++token}`

const server = createServer((request, response) => {
  request.resume()
  const { pathname, searchParams } = new URL(request.url, 'http://chat')
  if (pathname.endsWith('/login')) return answer(response, { user_id: '@tenantry.admin:x', access_token: 'syt_x', device_id: 'TENANTRYD' })
  if (!pathname.endsWith('/sync') || searchParams.get('timeout') === '0') return answer(response, { next_batch: next() })
  const address = request.headers.host.split(':')[0]
  const end = (rooms = {}) => {
    clearTimeout(timer)
    waiting.delete(address)
    answer(response, { next_batch: next(), rooms: { join: rooms } })
  }
  const timer = setTimeout(end, waitMs)
  waiting.set(address, end)
})

process.on('message', ({ address, roomId, sender }) => {
  const end = waiting.get(address)
  if (!end) return process.send({ sent: false, waiting: waiting.size })
  const event_id = `$${token}`
  const content = { msgtype: 'm.text', body: 'alarm' }
  const event = { type: 'm.room.message', event_id, sender, origin_server_ts: Date.now(), content }
  end({ [roomId]: { timeline: { events: [event], limited: false, prev_batch: 's1' } } })
  return process.send({ sent: true, eventId: event_id })
})

server.listen(Number(process.argv[2]), '0.0.0.0', () => process.send({ waiting: 0 }))

// 5,000 clients that listen. Says when all streams are open, and each time that all of them heard so many events more.
import { connect } from 'node:net'
import { sized } from './size.js'

const [port, ...rounds] = process.argv.slice(2).map(Number)
const count = sized(5000, 50)
const atOnce = 100
let [open, begun, heard, bytes] = [0, 0, 0, 0]
let awaited = count * rounds.shift()

function begin() {
  if (begun >= count) return
  const n = begun++
  const claims = Buffer.from(JSON.stringify({ userId: `u${n}`, exp: 4_102_444_800 })).toString('base64url')
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(`GET /api/platform/v1/events/stream HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer e30.${claims}.x\r\n\r\n`)
  })
  socket.once('data', (first) => {
    if (!String(first).startsWith('HTTP/1.1 200')) throw new Error(`no stream was opened: ${first}`)
    open += 1
    if (open === count) setTimeout(() => process.send({ open }), 1000)
    begin()
  })
  socket.on('data', hear)
  socket.on('close', () => {
    throw new Error('a stream was closed')
  })
}

function hear(chunk) {
  for (let at = chunk.indexOf('\nevent: '); at >= 0; at = chunk.indexOf('\nevent: ', at + 1)) heard += 1
  bytes += chunk.length
  if (heard < awaited) return
  process.send({ heard, bytes })
  awaited = heard + count * (rounds.shift() ?? Number.POSITIVE_INFINITY)
  bytes = 0
}
for (let n = 0; n < atOnce; n++) begin()

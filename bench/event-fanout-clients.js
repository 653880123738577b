// 5,000 clients that listen and throw away what they hear. Says when all of them are connected.
import { connect } from 'node:net'

const port = Number(process.argv[2])
const count = 5000
const atOnce = 100
let open = 0
let begun = 0

function begin() {
  if (begun >= count) return
  const n = begun++
  const claims = Buffer.from(JSON.stringify({ userId: `u${n}`, exp: 4_102_444_800 })).toString('base64url')
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(`GET /api/platform/v1/events/stream HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer e30.${claims}.x\r\n\r\n`)
  })
  socket.once('data', () => {
    open += 1
    if (open === count) setTimeout(() => process.send('open'), 1000)
    begin()
  })
  socket.on('data', () => undefined)
}
for (let n = 0; n < atOnce; n++) begin()

// A client app in a process of its own: follows the event stream with one library, and refreshes its token when it has expired. Prints each event.
// Its command line: the library (a package of the folder that it runs in), `fetch` or `header`, and the address of the platform.

const [name, kind, base] = process.argv.slice(2)
let { TOKEN: token, REFRESH_TOKEN: refreshToken } = process.env
const url = `${base}/api/platform/v1/events/stream`

const hasExpired = () => JSON.parse(Buffer.from(token.split('.')[1], 'base64url')).exp * 1000 <= Date.now()

/** One refresh at a time: a second use of a refresh token ends the session. */
let refreshing
const validToken = async () => {
  if (hasExpired()) refreshing ??= refresh().finally(() => (refreshing = undefined))
  await refreshing
  return token
}

/** Again while the platform is away. */
async function refresh() {
  const body = JSON.stringify({ refresh_token: refreshToken })
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  for (;;) {
    const answer = await fetch(`${base}/api/auth/v1/refresh`, post).catch(() => undefined)
    if (answer?.ok) {
      ;({ token, refreshToken } = await answer.json())
      return process.stdout.write('refreshed\n')
    }
    if (answer && answer.status < 500) throw new Error(`refresh: ${answer.status} ${await answer.text()}`)
    await new Promise((next) => setTimeout(next, 500))
  }
}

// The timer of eventsource 5 keeps no process alive: without anything else the program would end while it waits to reconnect.
setInterval(() => undefined, 60_000)

let lastEventId = ''
const heard = (type, id) => {
  if (id) lastEventId = id
  process.stdout.write(`${type} ${id}\n`)
}
const types = ['position', 'flag.changed', 'reset']
const headers = () => ({ authorization: `Bearer ${token}` })

/** Gives each request of a library the token of that time. */
const withToken = async (input, init) =>
  fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), authorization: `Bearer ${await validToken()}` } })

const listen = (source) => {
  for (const type of types) source.addEventListener(type, (event) => heard(type, event.lastEventId))
  return source
}

/** A library that sends the headers that it was made with: after the token has expired the app opens another stream, behind the last event. */
const reopening = (open) => {
  const source = listen(open(`${url}?lastEventId=${lastEventId}`))
  source.onerror = async () => {
    if (!hasExpired() || source.over) return
    source.over = true
    source.close()
    await validToken()
    reopening(open)
  }
}

const library = await import(name)
if (name.startsWith('eventsource-client'))
  library.createEventSource({ url, fetch: withToken, onMessage: ({ event, id }) => heard(event, id) })
else if (name.startsWith('fetch-event-source')) {
  Object.assign(globalThis, {
    window: { setTimeout, clearTimeout, fetch },
    document: { hidden: false, addEventListener() {}, removeEventListener() {} },
  })
  const closed = () => {
    throw new Error('closed')
  }
  library.fetchEventSource(url, {
    fetch: withToken,
    openWhenHidden: true,
    onclose: closed,
    onerror: () => undefined,
    onmessage: ({ event, id }) => event && heard(event, id),
  })
} else {
  const Source = library.EventSource ?? library.EventSourcePolyfill ?? library.default
  if (kind === 'fetch') listen(new Source(url, { fetch: withToken }))
  else reopening((from) => new Source(from, { headers: headers() }))
}
process.on('unhandledRejection', (error) => process.stdout.write(`failed ${error.message}\n`))

import { createServer, type IncomingMessage } from 'node:http'
import { onTestFinished } from 'vitest'
import { isPaymentFailure, type PaymentFailure } from '../../../src/core/payments/index.ts'
import { freePort } from '../free-port.ts'
import type { paymentDouble } from './provider-double.ts'
import { chargeIdOf, chargeOf, intentIdOf, list, objectOf } from './stripe-objects.ts'

type Double = ReturnType<typeof paymentDouble>
type Call = Readonly<{ ids: readonly string[]; at: (name: string) => string; metadata: Record<string, string>; key: string }>
type Route = (call: Call) => Promise<unknown> | unknown

/** A request that was carried out and is not answered. `secretKey`: of its sender. */
type Held = Readonly<{ secretKey: string }>

const missing = () => ({ status: 404, type: 'invalid_request_error', message: 'No such object' })

/** The double behind the HTTP interface of the provider, for the real SDK in other processes. It answers what Tenantry calls, and nothing else. */
export async function stripeServer(double: Double, whenOver: (close: () => void) => void = onTestFinished) {
  const { provider } = double
  const cents = (call: Call, name: string) => Number(call.at(name))
  const iso = (seconds: string) => new Date(Number(seconds) * 1000).toISOString()
  const payoutOf = ({ at }: Call) =>
    at('transfer_data[destination]') === ''
      ? null
      : { destination: at('transfer_data[destination]'), applicationFeePercent: Number(at('application_fee_percent')) }
  const invoiceOfIntent = (intent: string) => double.invoices.get(intent.replace('pi_', ''))

  const routes: Readonly<Record<string, Route>> = {
    'GET accounts/:id': ({ ids: [id = ''] }) => provider.getAccount(id).then(objectOf.account),
    'POST customers': ({ key, at, metadata }) =>
      provider.createCustomer({ key, name: at('name'), email: at('email'), metadata }).then(objectOf.customer),
    'GET customers/:id': ({ ids: [id = ''] }) => provider.getCustomer(id).then(objectOf.customer),
    'GET customers/:id/payment_methods': () => list([{ id: 'pm_1', object: 'payment_method' }]),
    'POST checkout/sessions': async ({ at }) => {
      const { url, expiresAt } = await provider.createSetupLink({ customerId: at('customer'), returnUrl: at('success_url') })
      return { id: 'cs_1', object: 'checkout.session', url, expires_at: Date.parse(expiresAt) / 1000 }
    },
    'POST products': ({ key, at, metadata }) => provider.createProduct({ key, name: at('name'), metadata }),
    'GET billing/meters': () => list([...double.meters.values()].map(objectOf.meter)),
    'POST billing/meters': ({ key, at }) =>
      provider.ensureMeter({ key, eventName: at('event_name'), displayName: at('display_name') }).then(objectOf.meter),
    'POST billing/meter_events': async (call) => {
      const { at } = call
      const usage = { eventName: at('event_name'), customerId: at('payload[stripe_customer_id]'), identifier: at('identifier') }
      await provider.reportUsage({ ...usage, quantity: cents(call, 'payload[value]'), at: iso(at('timestamp')) })
      return { object: 'billing.meter_event' }
    },
    'POST prices': async (call) => {
      const { key, at, metadata } = call
      const unit = { cents: cents(call, 'unit_amount'), currency: at('currency') }
      const meterId = at('recurring[meter]') || null
      const price = { key, productId: at('product'), unit, meterId, lookupKey: at('lookup_key'), metadata }
      return objectOf.price(await provider.createPrice(price))
    },
    'GET prices': async ({ at }) => {
      const found = await provider.findPrice(at('lookup_keys[0]'))
      return list(found ? [objectOf.price(found)] : [])
    },
    'GET prices/:id': ({ ids: [id = ''] }) => provider.getPrice(id).then(objectOf.price),
    'POST prices/:id': async ({ ids: [id = ''], key }) => {
      await provider.deactivatePrice({ key, id })
      return objectOf.price(await provider.getPrice(id))
    },
    'POST subscriptions': async (call) => {
      const { key, at, metadata } = call
      const day = at('billing_cycle_anchor_config[day_of_month]')
      const anchor = day === '' ? null : { dayOfMonth: Number(day), hour: Number(at('billing_cycle_anchor_config[hour]')) }
      const created = await provider.createSubscription({
        ...{ key, customerId: at('customer'), priceId: at('items[0][price]'), metered: at('items[0][quantity]') === '' },
        ...{ payout: payoutOf(call), anchor, description: at('description'), metadata },
      })
      return objectOf.subscription(created)
    },
    'GET subscriptions': async ({ at }) => list((await provider.listSubscriptions(at('customer'))).map(objectOf.subscription)),
    'GET subscriptions/:id': ({ ids: [id = ''] }) => provider.getSubscription(id).then(objectOf.subscription),
    'POST subscriptions/:id': async (call) => {
      const { ids, key, at } = call
      const ends = at('cancel_at_period_end')
      const change = { ...(payoutOf(call) && { payout: payoutOf(call) }), ...(ends !== '' && { cancelAtPeriodEnd: ends === 'true' }) }
      return objectOf.subscription(await provider.updateSubscription({ key, id: ids[0] ?? '', ...change }))
    },
    'DELETE subscriptions/:id': ({ ids: [id = ''], key }) => provider.cancelSubscription({ key, id }).then(objectOf.subscription),
    'GET invoices': async ({ at }) => {
      const filter = { customerId: at('customer'), ...(at('subscription') && { subscriptionId: at('subscription') }) }
      const listed = await provider.listInvoices({ ...filter, ...(at('status') === 'open' && { status: 'open' as const }) })
      return list(listed.map(({ id }) => objectOf.invoice(double.invoices.get(id) ?? null)))
    },
    'GET invoices/:id': ({ ids: [id = ''] }) => provider.getInvoice(id).then(objectOf.invoice),
    'GET invoice_payments': ({ at }) => {
      const invoice = double.invoices.get(at('invoice')) ?? invoiceOfIntent(at('payment[payment_intent]'))
      return list(invoice && invoice.paidCents > 0 ? [objectOf.payment(invoice)] : [])
    },
    'GET payment_intents/:id': ({ ids: [id = ''] }) => {
      const invoice = invoiceOfIntent(id)
      return invoice ? { id, object: 'payment_intent', latest_charge: chargeOf(invoice) } : null
    },
    'GET charges/:id': async ({ ids: [id = ''] }) => {
      const { invoiceId = null } = (await provider.getCharge(id)) ?? {}
      return invoiceId === null ? null : { id: chargeIdOf(invoiceId), object: 'charge', payment_intent: intentIdOf(invoiceId) }
    },
    'GET invoiceitems': async ({ at }) => list((await provider.listInvoiceItems(at('customer'))).map(objectOf.invoiceItem)),
    'POST refunds': async ({ key, at }) => {
      const { refundedCents } = await provider.refundInvoice({ key, invoiceId: at('payment_intent').replace('pi_', '') })
      return { id: 're_1', object: 'refund', amount: refundedCents }
    },
  }

  const holds: { route: string; reached: (held: Held) => void }[] = []
  const unknown = new Set<string>()

  async function answerTo(request: IncomingMessage, body: string): Promise<Readonly<{ route: string; status: number; answer: unknown }>> {
    const { pathname, search } = new URL(request.url ?? '', 'http://localhost')
    const parts = pathname.replace('/v1/', '').split('/')
    const { route, ids } = routeOf(routes, request.method ?? '', parts)
    const work = routes[route]
    if (!work) unknown.add(`${request.method} ${pathname}`)
    const call = callOf(new URLSearchParams(request.method === 'POST' ? body : search), {
      ids,
      key: String(request.headers['idempotency-key']),
    })
    try {
      const answer = work ? await work(call) : null
      if (answer !== null && answer !== undefined) return { route, status: 200, answer }
      return { route, status: 404, answer: { error: missing() } }
    } catch (error) {
      if (!isPaymentFailure(error)) throw error
      return { route, ...failureOf(error) }
    }
  }

  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', async () => {
      const { route, status, answer } = await answerTo(request, body)
      const at = holds.findIndex((one) => one.route === route)
      if (at >= 0) return holds.splice(at, 1)[0]?.reached({ secretKey: String(request.headers.authorization).replace('Bearer ', '') })
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  })
  const port = await freePort()
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening))
  whenOver(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${port}`,
    /** Requests that no route answers. */
    unknown,
    /** Carries the next request of the route out and never answers it. */
    holdNext: (route: string) => new Promise<Held>((reached) => void holds.push({ route, reached })),
  }
}

/** The route of a path: the first that has its words, with any id where it has `:id`. */
function routeOf(routes: Readonly<Record<string, Route>>, method: string, parts: readonly string[]) {
  for (const route of Object.keys(routes)) {
    const [verb, path = ''] = route.split(' ')
    const words = path.split('/')
    const fits = verb === method && words.length === parts.length && words.every((word, nth) => word === ':id' || word === parts[nth])
    if (fits) return { route, ids: parts.filter((_, nth) => words[nth] === ':id') }
  }
  return { route: '', ids: [] }
}

function callOf(form: URLSearchParams, { ids, key }: Pick<Call, 'ids' | 'key'>): Call {
  const named = [...form].flatMap(([name, value]) => {
    const [, field] = /^metadata\[(.+)\]$/.exec(name) ?? []
    return field === undefined ? [] : [[field, value] as const]
  })
  return { ids, key, at: (name) => form.get(name) ?? '', metadata: Object.fromEntries(named) }
}

const statusOf = { declined: 402, invalid: 400, not_found: 404, failed: 500, unreachable: 503, denied: 401, off: 500 } as const

function failureOf({ kind, message }: PaymentFailure) {
  const type = kind === 'declined' ? 'card_error' : kind === 'invalid' || kind === 'not_found' ? 'invalid_request_error' : 'api_error'
  return { status: statusOf[kind], answer: { error: { type, message, ...(kind === 'not_found' && { code: 'resource_missing' }) } } }
}

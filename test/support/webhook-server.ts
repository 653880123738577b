import { createServer, type IncomingHttpHeaders } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { onTestFinished } from 'vitest'

export const webhookSecret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`

export type Posted = Readonly<{ method: string; path: string; headers: IncomingHttpHeaders; text: string }>

type Answer = Readonly<{ status: number; headers?: Record<string, string>; body?: string }>

/** A real webhook receiver: stores every post, and returns the scripted responses in order, the last one from then on. */
export async function webhookServer(...answers: Answer[]) {
  const posts: Posted[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { status, headers = {}, body = '' } = answers[Math.min(posts.length, answers.length - 1)] ?? { status: 204 }
    posts.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, text: Buffer.concat(chunks).toString() })
    response.writeHead(status, headers).end(body)
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/hook/t0psecretpath`
  return { url, posts }
}

/** The content of a post with a valid signature; its time is checked by the receiver. */
export function proven({ headers, text }: Posted): unknown {
  const [id, at] = [String(headers['webhook-id']), new Date(Number(headers['webhook-timestamp']) * 1000)]
  const wanted = new Webhook(webhookSecret).sign(id, at, text)
  if (wanted !== headers['webhook-signature']) throw new Error('the signature does not hold')
  return JSON.parse(text)
}

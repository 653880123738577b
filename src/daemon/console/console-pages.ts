import { join } from 'node:path'
import express, { type Express, type RequestHandler, type Response } from 'express'
import { problem } from '../../core/kit/index.ts'
import { packageRoot } from '../../node/index.ts'
import { consoleAccess } from '../admin/index.ts'

/** Nothing from elsewhere, no inline script or style, in no frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers = {
  'content-security-policy': policy,
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
}

/** Serves `/console`. Assets carry a hash in their name and stay forever; the page itself is asked for each time. */
export function consolePages(baseUrl: string, folder = packageRoot('dist/console')): (app: Express) => void {
  const access = consoleAccess(baseUrl)
  const guard: RequestHandler = (request, response, next) => {
    access.assertServed()
    access.assertHost(request.headers)
    response.set(headers)
    next()
  }
  return (app) => {
    app.use('/console', guard)
    app.use(
      '/console/assets',
      express.static(join(folder, 'assets'), { immutable: true, maxAge: '1y', index: false, redirect: false }),
      missing,
    )
    for (const name of ['favicon.svg', 'reload.js']) app.get(`/console/${name}`, (_, response) => sendPage(response, folder, name))
    app.get('/console{/*rest}', (_, response) => sendPage(response, folder, 'index.html'))
  }
}

const missing: RequestHandler = ({ originalUrl }) => {
  throw problem('NOT_FOUND', `${originalUrl} does not exist. fix: reload the page, the console was updated`)
}

function sendPage(response: Response, root: string, name: string): Promise<void> {
  response.set('cache-control', 'no-cache')
  return new Promise((sent, failed) => {
    response.sendFile(name, { root }, (error) => {
      if (!error) sent()
      else if ((error as { code?: string }).code === 'ENOENT')
        failed(problem('NOT_FOUND', 'The web console is not built. fix: npm run build'))
      else sent()
    })
  })
}

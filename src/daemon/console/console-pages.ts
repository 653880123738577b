import { join } from 'node:path'
import express, { type Express, type RequestHandler, type Response } from 'express'
import { problem } from '../../core/kit/index.ts'
import { packageRoot } from '../../node/index.ts'
import { consoleAccess } from '../admin/index.ts'
import type { PageAccess } from '../http/index.ts'
import { vendorAccess } from '../marketplace/index.ts'
import { schoolAccess } from '../school/index.ts'

/** Nothing from elsewhere, no inline script or style, in no frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // A picture that needs a session is read by the page.
  "img-src 'self' blob:",
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

/** All pages. */
export const webPages =
  (baseUrl: string) =>
  (app: Express): void => {
    consolePages(baseUrl)(app)
    schoolPages(baseUrl)(app)
    vendorPages(baseUrl)(app)
  }

/** Serves `/console`, for operators. */
export const consolePages = (baseUrl: string, folder = packageRoot('dist/console')): ((app: Express) => void) =>
  builtPages({ path: '/console', name: 'web console', folder, access: consoleAccess(baseUrl) })

/** Serves `/school`, for the administration of a tenant. */
export const schoolPages = (baseUrl: string, folder = packageRoot('dist/school')): ((app: Express) => void) =>
  builtPages({ path: '/school', name: 'school page', folder, access: schoolAccess(baseUrl) })

/** Serves `/vendor`, for vendors of the marketplace. */
export const vendorPages = (baseUrl: string, folder = packageRoot('dist/vendor')): ((app: Express) => void) =>
  builtPages({ path: '/vendor', name: 'page of vendors', folder, access: vendorAccess(baseUrl) })

type Built = Readonly<{ path: `/${string}`; name: string; folder: string; access: PageAccess }>

/** Assets carry a hash in their name and stay forever; the page itself is asked for each time. */
function builtPages({ path, name, folder, access }: Built): (app: Express) => void {
  const guard: RequestHandler = (request, response, next) => {
    access.assertServed()
    access.assertHost(request.headers)
    response.set(headers)
    next()
  }
  const missing: RequestHandler = ({ originalUrl }) => {
    throw problem('NOT_FOUND', `${originalUrl} does not exist. fix: reload the page, the ${name} was updated`)
  }
  const page =
    (file: string): RequestHandler =>
    (_, response) =>
      sendPage(response, { folder, file, name })
  return (app) => {
    app.use(path, guard)
    app.use(
      `${path}/assets`,
      express.static(join(folder, 'assets'), { immutable: true, maxAge: '1y', index: false, redirect: false }),
      missing,
    )
    for (const file of ['favicon.svg', 'reload.js']) app.get(`${path}/${file}`, page(file))
    app.get(`${path}{/*rest}`, page('index.html'))
  }
}

type Page = Readonly<{ folder: string; file: string; name: string }>

function sendPage(response: Response, { folder, file, name }: Page): Promise<void> {
  response.set('cache-control', 'no-cache')
  return new Promise((sent, failed) => {
    response.sendFile(file, { root: folder }, (error) => {
      if (!error) sent()
      else if ((error as { code?: string }).code === 'ENOENT') failed(problem('NOT_FOUND', `The ${name} is not built. fix: npm run build`))
      else sent()
    })
  })
}

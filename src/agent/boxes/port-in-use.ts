import { createServer } from 'node:net'

/** Whether something on this host listens on the port already. */
export const portInUse = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(true))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(false)))
  })

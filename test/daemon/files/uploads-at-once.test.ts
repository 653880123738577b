import { expect, test } from 'vitest'
import { uploadLimiter } from '../../../src/daemon/files/upload-file.ts'

const most = { user: 2, tenant: 3, all: 4 }
const anna = { userId: 'usr_anna', tenantId: 'ten_1' }
const ben = { userId: 'usr_ben', tenantId: 'ten_1' }
const eve = { userId: 'usr_eve', tenantId: 'ten_2' }

/** Uploads that finish on demand. */
function slow() {
  const enter = uploadLimiter(most)
  const begin = (sender: typeof anna) => {
    let end: (error?: Error) => void = () => undefined
    const upload = new Promise<void>((resolve, reject) => {
      end = (error) => (error ? reject(error) : resolve())
    })
    return { end: (error?: Error) => end(error), over: enter(sender, () => upload) }
  }
  return { begin }
}

test('a user has a limit of concurrent uploads, however slow', async () => {
  const { begin } = slow()
  const [first] = [begin(anna), begin(anna)]
  await expect(begin(anna).over).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 5 })
  first?.end()
  await first?.over
  const next = begin(anna)
  next.end()
  await next.over
})

test('a tenant cannot use all upload slots', async () => {
  const { begin } = slow()
  for (const sender of [anna, anna, ben]) begin(sender)
  await expect(begin(ben).over).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  begin(eve)
  await expect(begin(eve).over).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 5 })
})

test('a failed upload releases its slot', async () => {
  const { begin } = slow()
  const [first] = [begin(anna), begin(anna)]
  first?.end(new Error('left'))
  await expect(first?.over).rejects.toThrow('left')
  const next = begin(anna)
  next.end()
  await next.over
})

import { createHash, createHmac } from 'node:crypto'

export type AccessKey = Readonly<{ accessKeyId: string; secretAccessKey: string }>

type Request = Readonly<{ url: URL; body: string; at: Date; region: string; service: string; key: AccessKey }>

const sum = (text: string): string => createHash('sha256').update(text).digest('hex')
const mac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const contentType = 'application/x-www-form-urlencoded; charset=utf-8'

/** The headers of a form that is posted to a service of S3's family, signed by its version 4: the secret itself never travels. */
export function signedForm({ url, body, at, region, service, key }: Request): Record<string, string> {
  const time = at.toISOString().replaceAll(/[:-]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const headers = { 'content-type': contentType, host: url.host, 'x-amz-date': time }
  const names = Object.keys(headers).join(';')
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`)
  const canonical = ['POST', url.pathname, '', lines.join(''), names, sum(body)].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const signing = [day, region, service, 'aws4_request'].reduce<string | Buffer>(mac, `AWS4${key.secretAccessKey}`)
  const signature = mac(signing, ['AWS4-HMAC-SHA256', time, scope, sum(canonical)].join('\n')).toString('hex')
  return {
    'content-type': contentType,
    'x-amz-date': time,
    authorization: `AWS4-HMAC-SHA256 Credential=${key.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  }
}

/**
 * `Content-Disposition` (RFC 6266, 8187): whatever a name holds, it ends neither the quotes nor the header. Old programs read the first form,
 * in which everything but plain ASCII is an underscore.
 */
export function disposition(kind: 'inline' | 'attachment', fileName: string): string {
  const plain = fileName.replace(/[^\x20-\x7e]|["\\%]/gu, '_')
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded(fileName)}`
}

const encoded = (text: string) =>
  encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd')).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )

// Services of type B modules: addresses, messages to a service, its answers, retries, and what passes the proxy.
// It decides which address, path, header and answer is valid, and when a message is sent again.
// It sends nothing and stores nothing.
export { moduleServicesContract, type Service } from './contract.ts'
export { type Message, messageBody, messageId, type Publication, readAnswer } from './message.ts'
export { bodyFraming, forwardedHeaders, isRedirect, maxBodyBytes, proxyTimeoutMs, servicePath } from './proxied.ts'
export { type Failure, isUnreachable, maxDeleteMs, maxDeliveryMs, restMs, retryAt } from './retries.ts'
export { apiUrl, UpstreamUrl, webhookUrl } from './upstream.ts'

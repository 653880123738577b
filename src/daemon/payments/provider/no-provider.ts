import { type PaymentProvider, paymentFailure } from '../../../core/payments/index.ts'

const off = (): never => {
  throw paymentFailure('off', 'No payment provider is configured. fix: set TENANTRY_STRIPE_SECRET_KEY')
}

/** Without a provider every call fails with `off`. */
const refuse = async (): Promise<never> => off()

export const noProvider: PaymentProvider = {
  name: 'none',
  createAccount: refuse,
  getAccount: refuse,
  createAccountLink: refuse,
  createCustomer: refuse,
  getCustomer: refuse,
  updateCustomer: refuse,
  createSetupLink: refuse,
  applySetup: refuse,
  createProduct: refuse,
  ensureMeter: refuse,
  createPrice: refuse,
  getPrice: refuse,
  findPrice: refuse,
  deactivatePrice: refuse,
  createSubscription: refuse,
  getSubscription: refuse,
  listSubscriptions: refuse,
  updateSubscription: refuse,
  cancelSubscription: refuse,
  reportUsage: refuse,
  createInvoice: refuse,
  finishInvoice: refuse,
  createInvoiceItem: refuse,
  deleteInvoiceItem: refuse,
  listInvoiceItems: refuse,
  getInvoice: refuse,
  getCharge: refuse,
  getDispute: refuse,
  getRefund: refuse,
  listInvoices: refuse,
  payInvoice: refuse,
  refundInvoice: refuse,
  voidInvoice: refuse,
  createTransfer: refuse,
  listTransfers: refuse,
  verifyEvent: off,
}

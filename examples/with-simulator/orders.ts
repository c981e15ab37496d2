// Stands in for your database.

export const orders = {
  paid: new Map<string, string>(),

  async markPaid(id: string, amount: string): Promise<void> {
    orders.paid.set(id, amount);
  },
};

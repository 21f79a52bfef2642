//! Families and protocols, tested by folders of cases: one file, one request, one outcome.

#[cfg(test)]
mod a;
#[cfg(test)]
mod answers;
#[cfg(test)]
mod ark;
#[cfg(test)]
mod b;
#[cfg(test)]
mod c;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod d;
#[cfg(test)]
mod dashscope;
#[cfg(test)]
mod e;
#[cfg(test)]
mod folders;
#[cfg(test)]
mod kling;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod price;
#[cfg(test)]
mod random;
#[cfg(test)]
mod walk;
